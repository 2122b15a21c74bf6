//! The members of a JSON object that determine its side table.

use serde::Deserialize;

use crate::read::lenient::{MaybeId, MaybeText};

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub struct RecordShape<'a> {
    pub id: MaybeId<'a>,
    pub names: Option<serde::de::IgnoredAny>,
    #[serde(rename = "orcid-identifier")]
    pub orcid_identifier: Option<serde::de::IgnoredAny>,
    pub orcid: MaybeText<'a>,
    pub display_name: Option<serde::de::IgnoredAny>,
    pub path: MaybeText<'a>,
}
