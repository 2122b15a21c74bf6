//! The members of a ROR record that an object keeps.

use serde::{Deserialize, Serialize};

use crate::frontend::side::side_value::SideValue;

/// The members of a ROR record. Linking uses a member only where the dump has none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Organisation {
    pub acronyms: Vec<String>,
    /// The display name, then the other labels and aliases.
    pub alternatives: Vec<String>,
    /// Language and label, in the order of the record.
    pub labels: Vec<(String, String)>,
    pub location: Option<Location>,
    pub relations: Vec<Relation>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Location {
    pub city: Option<String>,
    /// The GeoNames number of the city.
    pub geonames_id: Option<String>,
    pub region: Option<String>,
    pub country_code: Option<String>,
    pub country: Option<String>,
    /// Degrees north.
    pub latitude: Option<f64>,
    /// Degrees east.
    pub longitude: Option<f64>,
}

/// A relation to another organisation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Relation {
    /// The ROR id of the other organisation, as a key.
    pub key: u64,
    /// `parent`, `child`, `related`, `predecessor` or `successor`.
    pub kind: String,
}

/// No record has these members, so an object keeps them as JSON.
impl SideValue for Organisation {
    fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("the members are texts, lists and finite numbers")
    }

    fn decode(bytes: &[u8]) -> Option<Organisation> {
        serde_json::from_slice(bytes).ok()
    }
}
