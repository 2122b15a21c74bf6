//! The records of the taxonomy: domain > field > subfield > topic.

use crate::record::declare::{object, record};
use crate::record::shared::*;
use crate::record::value::*;

object! {
    /// A topic, a leaf of the taxonomy.
    Topic {
        /// `HX_T` and a number.
        id: Id<TOPIC>,
        /// Display name.
        name: Option<String>,
        /// Description of the subject.
        description: Option<String>,
        /// Keywords.
        keywords: Option<Vec<String>>,
        /// URLs in other systems.
        ids: TopicIds,
        /// Parent subfield.
        subfield: Option<ParentRef<SUBFIELD>>,
        /// Field of the subfield.
        field: Option<ParentRef<FIELD>>,
        /// Domain of the field.
        domain: Option<ParentRef<DOMAIN>>,
        /// Other topics of the subfield.
        siblings: Option<Vec<Ref<TOPIC>>>,
        /// Indexed outputs.
        outputs_count: Option<u64>,
        /// Citations received.
        cited_by_count: Option<u64>,
        /// When the record changed.
        updated_date: Option<Timestamp>,
        /// When the record was made.
        created_date: Option<Timestamp>,
    }
}

record!(Topic by outputs_count);

object! {
    /// URLs of a topic in other systems.
    TopicIds {
        /// Wikipedia.
        wikipedia: Option<String>,
    }

    /// A subfield.
    Subfield {
        /// Number.
        id: Id<SUBFIELD>,
        /// Display name.
        name: Option<String>,
        /// Description of the subject.
        description: Option<String>,
        /// URLs in other systems.
        ids: TaxonomyIds,
        /// Other names.
        display_name_alternatives: Option<Vec<String>>,
        /// Parent field.
        field: Option<ParentRef<FIELD>>,
        /// Domain of the field.
        domain: Option<ParentRef<DOMAIN>>,
        /// Topics.
        topics: Option<Vec<Ref<TOPIC>>>,
        /// All other subfields.
        siblings: Option<Vec<Ref<SUBFIELD>>>,
        /// Indexed outputs.
        outputs_count: Option<u64>,
        /// Citations received.
        cited_by_count: Option<u64>,
        /// When the record changed.
        updated_date: Option<Timestamp>,
        /// When the record was made.
        created_date: Option<Timestamp>,
    }
}

record!(Subfield by outputs_count);

object! {
    /// A field.
    Field {
        /// Number.
        id: Id<FIELD>,
        /// Display name.
        name: Option<String>,
        /// Description of the subject.
        description: Option<String>,
        /// URLs in other systems.
        ids: TaxonomyIds,
        /// Other names.
        display_name_alternatives: Option<Vec<String>>,
        /// Parent domain.
        domain: Option<ParentRef<DOMAIN>>,
        /// Subfields of the field.
        subfields: Option<Vec<Ref<SUBFIELD>>>,
        /// All other fields.
        siblings: Option<Vec<Ref<FIELD>>>,
        /// Indexed outputs.
        outputs_count: Option<u64>,
        /// Citations received.
        cited_by_count: Option<u64>,
        /// When the record changed.
        updated_date: Option<Timestamp>,
        /// When the record was made.
        created_date: Option<Timestamp>,
    }
}

record!(Field by outputs_count);

object! {
    /// A domain, a top-level node.
    Domain {
        /// Number.
        id: Id<DOMAIN>,
        /// Display name.
        name: Option<String>,
        /// Description of the subject.
        description: Option<String>,
        /// URLs in other systems.
        ids: TaxonomyIds,
        /// Other names.
        display_name_alternatives: Option<Vec<String>>,
        /// Fields of the domain.
        fields: Option<Vec<Ref<FIELD>>>,
        /// All other domains.
        siblings: Option<Vec<Ref<DOMAIN>>>,
        /// Indexed outputs.
        outputs_count: Option<u64>,
        /// Citations received.
        cited_by_count: Option<u64>,
        /// When the record changed.
        updated_date: Option<Timestamp>,
        /// When the record was made.
        created_date: Option<Timestamp>,
    }
}

record!(Domain by outputs_count);
