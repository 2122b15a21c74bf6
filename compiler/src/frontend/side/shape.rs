//! The members of a JSON object that determine its side table.

use serde::de::IgnoredAny;

use crate::read::lenient::{MaybeId, MaybeText, members};

members! {
    pub struct RecordShape<'a> {
        pub id: MaybeId<'a>,
        pub names: Option<IgnoredAny>,
        pub orcid_identifier as "orcid-identifier": Option<IgnoredAny>,
        pub orcid: MaybeText<'a>,
        pub display_name: Option<IgnoredAny>,
        pub path: MaybeText<'a>,
    }
}
