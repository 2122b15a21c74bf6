//! The path of an endpoint, and the list that it is of.

use pinakes_format::entity::Facts;
use pinakes_format::record::LegacyEntity;

/// The list that a path is of.
#[derive(Clone, Copy, Debug)]
pub enum Subject {
    /// No list.
    None,
    /// The list of an entity.
    Entity(&'static Facts),
    /// A list of the legacy variant.
    Legacy(&'static LegacyEntity),
}

impl Subject {
    /// The path of the list, without the first slash.
    pub fn list(self) -> &'static str {
        match self {
            Subject::None => "",
            Subject::Entity(facts) => facts.route,
            Subject::Legacy(legacy) => legacy.route,
        }
    }
}

/// A path of the interface; of one list, if its row of the table is of lists.
#[derive(Debug)]
pub struct RoutePath {
    /// The list that the path is of.
    pub subject: Subject,
    /// The path, with the names of segments that clients choose in braces.
    pub path: String,
}

impl RoutePath {
    /// The entity whose list the path names.
    ///
    /// # Panics
    ///
    /// If the path names no list.
    pub fn facts(&self) -> &'static Facts {
        match self.subject {
            Subject::Entity(facts) => facts,
            Subject::Legacy(legacy) => legacy.entity.facts(),
            Subject::None => panic!("`{}` names no list", self.path),
        }
    }

    /// The legacy list that the path names.
    ///
    /// # Panics
    ///
    /// If the path names no legacy list.
    pub fn legacy(&self) -> &'static LegacyEntity {
        match self.subject {
            Subject::Legacy(legacy) => legacy,
            Subject::None | Subject::Entity(_) => panic!("`{}` names no legacy list", self.path),
        }
    }
}
