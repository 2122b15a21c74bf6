//! ORCID's summaries of people.
//!
//! Three shapes are read: a record as ORCID's API writes it, the `person` of a record alone, and an
//! object with the members of the Pinakes interface.

pub(crate) mod either;
pub(crate) mod person;

use pinakes_format::record::{Author, OrcidProfile};

use crate::frontend::reader::BadRecord;
use crate::frontend::side::keys;
use crate::frontend::side::orcid::person::RawPerson;
use crate::frontend::side::read::{KeyedRow, read_elements};
use crate::frontend::side::table::{Extend, JoinedRows, RecordShape, SideTable};
use crate::read::{
    Diagnostics, MaybeLength, MaybeNumber, MaybeObject, MaybeText, lenient, members,
};

pub static TABLE: SideTable = SideTable {
    name: "orcid",
    expected: "ORCID records as JSON lines, each with an `orcid-identifier` or an `orcid`",
    is_header: |_| false,
    is_record,
    read: |path, limits, diagnostics, object| {
        read_elements::<OrcidProfile>(&TABLE, read, path, limits, diagnostics, object)
    },
    extend: Extend::Author(extend),
};

fn is_record(shape: &RecordShape<'_>) -> bool {
    let id = shape.id.0.as_str().unwrap_or_default();
    let path = shape.path.as_str().unwrap_or_default();
    let has_orcid = |text: &str| text.split('/').any(|part| keys::parse_orcid(part).is_some());
    let is_person = shape.orcid_identifier.is_some() || has_orcid(id) || has_orcid(path);
    // OpenAlex authors have an `orcid` too, beside their own id and display name.
    let is_author = !id.is_empty() || shape.display_name.is_some();
    is_person || (!is_author && shape.orcid.as_str().is_some_and(has_orcid))
}

/// Replaces the members of the author's ORCID that the profile has; the dump's members fill its
/// gaps. Returns whether there was a profile to add.
fn extend(author: &mut Author, rows: &JoinedRows<'_>) -> Option<bool> {
    let profile = rows.values::<OrcidProfile>(&TABLE)?.into_iter().next();
    let (Some(orcid), Some(profile)) = (&mut author.orcid, profile) else { return Some(false) };
    let own = std::mem::take(&mut orcid.0);
    orcid.0 = OrcidProfile {
        id: own.id,
        name: profile.name.or(own.name),
        biography: profile.biography.or(own.biography),
        emails: profile.emails.or(own.emails),
        external_identifiers: profile.external_identifiers.or(own.external_identifiers),
        websites: profile.websites.or(own.websites),
        outputs_count: profile.outputs_count.or(own.outputs_count),
    };
    Some(true)
}

members! {
    struct RawRecord<'a> {
        identifier as "orcid-identifier": MaybeObject<RawIdentifier<'a>>,
        orcid: MaybeText<'a>,
        id: MaybeText<'a>,
        path: MaybeText<'a>,
        history: MaybeObject<RawHistory>,
        modified as "last-modified-date": MaybeObject<RawMoment>,
        person: MaybeObject<RawPerson<'a>>,
        activities as "activities-summary": MaybeObject<RawActivities>,
        outputs_count: MaybeNumber,
    }

    struct RawIdentifier<'a> {
        path: MaybeText<'a>,
        uri: MaybeText<'a>,
    }

    struct RawHistory {
        modified as "last-modified-date": MaybeObject<RawMoment>,
    }

    struct RawMoment {
        value: MaybeNumber,
    }

    struct RawActivities {
        works: MaybeObject<RawWorks>,
    }

    struct RawWorks {
        group: MaybeLength,
    }
}

fn read(text: &str, diagnostics: &Diagnostics) -> Result<KeyedRow<OrcidProfile>, BadRecord> {
    let raw: RawRecord<'_> = lenient::from_str_skipping_unread(text, diagnostics)?;
    // A record without a `person` is a person itself.
    let person = match raw.person.0 {
        Some(person) => person,
        None => lenient::from_str_skipping_unread(text, diagnostics)?,
    };
    let identifier = raw.identifier.0.as_ref();
    let texts = [
        identifier.and_then(|identifier| identifier.path.as_str()),
        identifier.and_then(|identifier| identifier.uri.as_str()),
        raw.orcid.as_str(),
        raw.id.as_str(),
        raw.path.as_str(),
        person.path(),
    ];
    let given = texts.into_iter().flatten().next();
    let bad = |code| BadRecord::Quarantine { code, id: given.map(str::to_owned) };
    // A path looks like `/0000-0001-2345-6789/person`.
    let parts = given.ok_or(bad("no_id"))?.split('/');
    let key = parts.rev().find_map(keys::parse_orcid).ok_or(bad("bad_id"))?;
    let modified = raw.history.0.map(|history| history.modified).unwrap_or(raw.modified);
    let works = raw.activities.0.and_then(|activities| activities.works.0);
    let value = OrcidProfile {
        id: keys::format_orcid(key),
        outputs_count: works
            .and_then(|works| works.group.0)
            .or_else(|| raw.outputs_count.count(diagnostics)),
        ..person.profile()
    };
    let vintage = modified.0.and_then(|modified| modified.value.integer(diagnostics));
    Ok(KeyedRow { keys: vec![key], vintage, value })
}
