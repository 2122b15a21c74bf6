//! The person of an ORCID record.

use pinakes_format::record::{ExternalIdentifier, OrcidProfile, Website};

use crate::frontend::side::orcid::either::Either;
use crate::read::{MaybeId, MaybeList, MaybeObject, MaybeText, members};

members! {
    /// A person, with the members of ORCID's API and of the Pinakes interface.
    pub(crate) struct RawPerson<'a> {
        name: Either<RawName<'a>, MaybeText<'a>>,
        biography: Either<Wrapped<'a>, MaybeText<'a>>,
        emails: Either<RawEmails<'a>, MaybeList<MaybeText<'a>>>,
        external_identifiers as "external-identifiers": MaybeObject<RawExternalIdentifiers<'a>>,
        own_identifiers as "externalIdentifiers": MaybeList<MaybeObject<OwnIdentifier<'a>>>,
        researcher_urls as "researcher-urls": MaybeObject<RawResearcherUrls<'a>>,
        websites: MaybeList<MaybeObject<OwnWebsite<'a>>>,
    }

    /// `{"value": …}` or `{"content": …}`.
    struct Wrapped<'a> {
        value: MaybeText<'a>,
        content: MaybeText<'a>,
    }

    struct RawName<'a> {
        path: MaybeText<'a>,
        given as "given-names": MaybeObject<Wrapped<'a>>,
        family as "family-name": MaybeObject<Wrapped<'a>>,
        credit as "credit-name": MaybeObject<Wrapped<'a>>,
    }

    struct RawEmails<'a> {
        email: MaybeList<MaybeObject<RawEmail<'a>>>,
    }

    struct RawEmail<'a> {
        email: MaybeText<'a>,
    }

    struct RawExternalIdentifiers<'a> {
        list as "external-identifier": MaybeList<MaybeObject<RawExternalIdentifier<'a>>>,
    }

    struct RawExternalIdentifier<'a> {
        kind as "external-id-type": MaybeText<'a>,
        value as "external-id-value": MaybeId<'a>,
        url as "external-id-url": MaybeObject<Wrapped<'a>>,
    }

    struct OwnIdentifier<'a> {
        id: MaybeId<'a>,
        name: MaybeText<'a>,
        url: MaybeText<'a>,
    }

    struct RawResearcherUrls<'a> {
        list as "researcher-url": MaybeList<MaybeObject<RawResearcherUrl<'a>>>,
    }

    struct RawResearcherUrl<'a> {
        name as "url-name": MaybeText<'a>,
        url: MaybeObject<Wrapped<'a>>,
    }

    struct OwnWebsite<'a> {
        name: MaybeText<'a>,
        url: MaybeText<'a>,
    }
}

impl Wrapped<'_> {
    fn text(&self) -> Option<&str> {
        self.value.as_str().or(self.content.as_str())
    }
}

fn wrapped<'a>(object: &'a MaybeObject<Wrapped<'_>>) -> Option<&'a str> {
    object.0.as_ref().and_then(Wrapped::text)
}

impl Either<RawName<'_>, MaybeText<'_>> {
    fn path(&self) -> Option<&str> {
        match self {
            Either::Object(name) => name.path.as_str(),
            Either::Other(_) => None,
        }
    }

    /// The credit name, or the given and family names.
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
    /// The `path` of the name, which holds the ORCID iD.
    pub(crate) fn path(&self) -> Option<&str> {
        self.name.path()
    }

    /// The profile, without the iD and the count of outputs.
    pub(crate) fn profile(&self) -> OrcidProfile {
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
                Either::Other(emails) => emails.filter_map(MaybeText::to_owned),
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
