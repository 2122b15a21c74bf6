//! The taxonomy: domain > field > subfield > topic.

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
        /// What it is about.
        description: Option<String>,
        /// Keywords.
        keywords: Option<Vec<String>>,
        /// Addresses elsewhere.
        ids: TopicIds,
        /// The subfield it belongs to.
        subfield: Option<ParentRef<SUBFIELD>>,
        /// The field of that.
        field: Option<ParentRef<FIELD>>,
        /// The domain of that.
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
    /// Addresses of a topic elsewhere.
    TopicIds {
        /// Wikipedia.
        wikipedia: Option<String>,
    }
}

object! {
    /// A subfield.
    Subfield {
        /// Its number.
        id: Id<SUBFIELD>,
        /// Display name.
        name: Option<String>,
        /// What it is about.
        description: Option<String>,
        /// Addresses elsewhere.
        ids: TaxonomyIds,
        /// Other names.
        display_name_alternatives: Option<Vec<String>>,
        /// The field it belongs to.
        field: Option<ParentRef<FIELD>>,
        /// The domain of that.
        domain: Option<ParentRef<DOMAIN>>,
        /// Its topics.
        topics: Option<Vec<Ref<TOPIC>>>,
        /// The other subfields.
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
        /// Its number.
        id: Id<FIELD>,
        /// Display name.
        name: Option<String>,
        /// What it is about.
        description: Option<String>,
        /// Addresses elsewhere.
        ids: TaxonomyIds,
        /// Other names.
        display_name_alternatives: Option<Vec<String>>,
        /// The domain it belongs to.
        domain: Option<ParentRef<DOMAIN>>,
        /// Its subfields.
        subfields: Option<Vec<Ref<SUBFIELD>>>,
        /// The other fields.
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
        /// Its number.
        id: Id<DOMAIN>,
        /// Display name.
        name: Option<String>,
        /// What it is about.
        description: Option<String>,
        /// Addresses elsewhere.
        ids: TaxonomyIds,
        /// Other names.
        display_name_alternatives: Option<Vec<String>>,
        /// Its fields.
        fields: Option<Vec<Ref<FIELD>>>,
        /// The other domains.
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
