//! ORCID's summaries of people: records as its API writes them, the person of one alone, or an
//! object with the interface's own members.

use pinakes_format::record::{ExternalIdentifier, OrcidProfile, Website};
use serde::Deserialize;

use super::{keys, read::Keyed};
use crate::{
    lenient::{IdText, Length, List, Number, Object, Text},
    openalex::BadRecord,
};

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

/// A person: the API's members, and the interface's.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawPerson<'a> {
    name: Either<RawName<'a>, Text<'a>>,
    biography: Either<Wrapped<'a>, Text<'a>>,
    emails: Either<RawEmails<'a>, List<Text<'a>>>,
    #[serde(rename = "external-identifiers")]
    external_identifiers: Object<RawExternalIdentifiers<'a>>,
    #[serde(rename = "externalIdentifiers")]
    own_identifiers: List<Object<OwnIdentifier<'a>>>,
    #[serde(rename = "researcher-urls")]
    researcher_urls: Object<RawResearcherUrls<'a>>,
    websites: List<Object<OwnWebsite<'a>>>,
}

/// An object of a known shape, or else something simpler.
#[derive(Deserialize)]
#[serde(untagged)]
enum Either<T, U> {
    Object(T),
    Other(U),
}

impl<T, U: Default> Default for Either<T, U> {
    fn default() -> Self {
        Either::Other(U::default())
    }
}

/// `{"value": …}` or `{"content": …}`.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Wrapped<'a> {
    value: Text<'a>,
    content: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawName<'a> {
    path: Text<'a>,
    #[serde(rename = "given-names")]
    given: Object<Wrapped<'a>>,
    #[serde(rename = "family-name")]
    family: Object<Wrapped<'a>>,
    #[serde(rename = "credit-name")]
    credit: Object<Wrapped<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawEmails<'a> {
    email: List<Object<RawEmail<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawEmail<'a> {
    email: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawExternalIdentifiers<'a> {
    #[serde(rename = "external-identifier")]
    list: List<Object<RawExternalIdentifier<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawExternalIdentifier<'a> {
    #[serde(rename = "external-id-type")]
    kind: Text<'a>,
    #[serde(rename = "external-id-value")]
    value: IdText<'a>,
    #[serde(rename = "external-id-url")]
    url: Object<Wrapped<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct OwnIdentifier<'a> {
    id: IdText<'a>,
    name: Text<'a>,
    url: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawResearcherUrls<'a> {
    #[serde(rename = "researcher-url")]
    list: List<Object<RawResearcherUrl<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawResearcherUrl<'a> {
    #[serde(rename = "url-name")]
    name: Text<'a>,
    url: Object<Wrapped<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct OwnWebsite<'a> {
    name: Text<'a>,
    url: Text<'a>,
}

/// Reads one record.
///
/// # Errors
///
/// Why it is set aside.
pub fn read(text: &str) -> Result<Keyed<OrcidProfile>, BadRecord> {
    let raw: RawRecord<'_> = serde_json::from_str(text)?;
    // Without a `person`, the record is one.
    let person = match raw.person.0 {
        Some(person) => person,
        None => serde_json::from_str(text)?,
    };
    let identifier = raw.identifier.0.as_ref();
    let texts = [
        identifier.and_then(|of| of.path.as_str()),
        identifier.and_then(|of| of.uri.as_str()),
        raw.orcid.as_str(),
        raw.id.as_str(),
        raw.path.as_str(),
        person.name.path(),
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

impl Wrapped<'_> {
    fn text(&self) -> Option<&str> {
        self.value.as_str().or(self.content.as_str())
    }
}

fn wrapped<'a>(of: &'a Object<Wrapped<'_>>) -> Option<&'a str> {
    of.0.as_ref().and_then(Wrapped::text)
}

impl Either<RawName<'_>, Text<'_>> {
    fn path(&self) -> Option<&str> {
        match self {
            Either::Object(name) => name.path.as_str(),
            Either::Other(_) => None,
        }
    }

    /// The name a person asks to be credited by, or else given and family name.
    fn text(&self) -> Option<String> {
        match self {
            Either::Other(text) => text.to_owned(),
            Either::Object(name) => wrapped(&name.credit).map(str::to_owned).or_else(|| {
                let parts = [wrapped(&name.given), wrapped(&name.family)];
                let parts: Vec<&str> = parts.into_iter().flatten().map(str::trim).collect();
                (!parts.is_empty()).then(|| parts.join(" "))
            }),
        }
    }
}

impl RawPerson<'_> {
    fn profile(&self) -> OrcidProfile {
        OrcidProfile {
            id: String::new(),
            name: self.name.text(),
            biography: match &self.biography {
                Either::Object(biography) => biography.text().map(str::to_owned),
                Either::Other(text) => text.to_owned(),
            },
            emails: match &self.emails {
                Either::Object(emails) => {
                    emails.email.filter_map(|email| email.0.as_ref()?.email.to_owned())
                }
                Either::Other(emails) => emails.filter_map(Text::to_owned),
            },
            external_identifiers: self.external_identifiers(),
            websites: self.websites(),
            outputs_count: None,
        }
    }

    fn external_identifiers(&self) -> Option<Vec<ExternalIdentifier>> {
        let Some(identifiers) = &self.external_identifiers.0 else {
            return self.own_identifiers.filter_map(|identifier| {
                let identifier = identifier.0.as_ref()?;
                Some(ExternalIdentifier {
                    id: identifier.id.0.to_owned(),
                    name: identifier.name.to_owned(),
                    url: identifier.url.to_owned(),
                })
            });
        };
        identifiers.list.filter_map(|identifier| {
            let identifier = identifier.0.as_ref()?;
            Some(ExternalIdentifier {
                id: identifier.value.0.to_owned(),
                name: identifier.kind.to_owned(),
                url: wrapped(&identifier.url).map(str::to_owned),
            })
        })
    }

    fn websites(&self) -> Option<Vec<Website>> {
        let Some(urls) = &self.researcher_urls.0 else {
            return self.websites.filter_map(|website| {
                let website = website.0.as_ref()?;
                Some(Website { url: website.url.to_owned(), name: website.name.to_owned() })
            });
        };
        urls.list.filter_map(|url| {
            let raw = url.0.as_ref()?;
            Some(Website { url: wrapped(&raw.url).map(str::to_owned), name: raw.name.to_owned() })
        })
    }
}
