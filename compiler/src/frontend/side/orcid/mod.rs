//! ORCID's summaries of people: records as its API writes them, the person of one alone, or an
//! object with the interface's own members.

pub(crate) mod either;
pub(crate) mod person;

use pinakes_format::record::OrcidProfile;
use serde::Deserialize;

use crate::frontend::openalex::BadRecord;
use crate::frontend::side::keys;
use crate::frontend::side::orcid::person::RawPerson;
use crate::frontend::side::read::Keyed;
use crate::read::lenient::{Length, Number, Object, Text};
use crate::read::strict;

/// A record, and where it is read as one.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawRecord<'a> {
    #[serde(rename = "orcid-identifier")]
    identifier: Object<RawIdentifier<'a>>,
    orcid: Text<'a>,
    id: Text<'a>,
    path: Text<'a>,
    history: Object<RawHistory>,
    #[serde(rename = "last-modified-date")]
    modified: Object<RawMoment>,
    person: Object<RawPerson<'a>>,
    #[serde(rename = "activities-summary")]
    activities: Object<RawActivities>,
    outputs_count: Number,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawIdentifier<'a> {
    path: Text<'a>,
    uri: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawHistory {
    #[serde(rename = "last-modified-date")]
    modified: Object<RawMoment>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawMoment {
    value: Number,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawActivities {
    works: Object<RawWorks>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawWorks {
    group: Length,
}

/// Reads one record.
///
/// # Errors
///
/// Why it is set aside.
pub fn read(text: &str) -> Result<Keyed<OrcidProfile>, BadRecord> {
    let raw: RawRecord<'_> = strict::from_str_skipping_unread(text)?;
    // Without a `person`, the record is one.
    let person = match raw.person.0 {
        Some(person) => person,
        None => strict::from_str_skipping_unread(text)?,
    };
    let identifier = raw.identifier.0.as_ref();
    let texts = [
        identifier.and_then(|of| of.path.as_str()),
        identifier.and_then(|of| of.uri.as_str()),
        raw.orcid.as_str(),
        raw.id.as_str(),
        raw.path.as_str(),
        person.path(),
    ];
    let given = texts.into_iter().flatten().next();
    let bad = |code| BadRecord::Quarantine { code, id: given.map(str::to_owned) };
    // A path is `/0000-0001-2345-6789/person`.
    let parts = given.ok_or(bad("no_id"))?.split('/');
    let key = parts.rev().find_map(keys::orcid).ok_or(bad("bad_id"))?;
    let modified = raw.history.0.map(|history| history.modified).unwrap_or(raw.modified);
    let works = raw.activities.0.and_then(|activities| activities.works.0);
    let value = OrcidProfile {
        id: keys::orcid_text(key),
        outputs_count: works.and_then(|works| works.group.0).or_else(|| raw.outputs_count.count()),
        ..person.profile()
    };
    let vintage = modified.0.and_then(|modified| modified.value.integer());
    Ok(Keyed { keys: vec![key], vintage, value })
}
