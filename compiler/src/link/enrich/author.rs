//! Adds an ORCID profile to an author.

use pinakes_format::record::{Author, OrcidProfile};

/// Replaces the members of the author's ORCID that the profile has; the dump's members fill its
/// gaps. Returns whether there was a profile to add.
pub(crate) fn fill(author: &mut Author, profile: Option<OrcidProfile>) -> bool {
    let (Some(orcid), Some(profile)) = (&mut author.orcid, profile) else { return false };
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
    true
}
