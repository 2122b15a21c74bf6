//! Objects that the records of several entities contain.

pub(super) use crate::entity::number::*;
use crate::record::declare::object;
use crate::record::value::{AnyRef, Code, Named, Ref, Table};

/// A country as `{code, name}`.
pub type Country = Named<{ Table::Country as u8 }>;
/// A currency's code.
pub type Currency = Code<{ Table::Currency as u8 }>;

object! {
    /// Citation indicators.
    SummaryStats {
        /// Mean citations in the last two years.
        mean_citedness_2yr as "2yr_mean_citedness": Option<f64>,
        /// Hirsch's index.
        h_index: Option<u64>,
        /// Outputs with at least ten citations.
        i10_index: Option<u64>,
    }

    /// The counts of one year.
    YearCounts {
        /// Year.
        year: Option<i32>,
        /// Outputs of that year.
        outputs_count: Option<u64>,
        /// Open-access outputs of that year.
        oa_outputs_count: Option<u64>,
        /// Citations received in that year.
        cited_by_count: Option<u64>,
    }

    /// A topic with its weight.
    TopicShare {
        /// Reference to the topic.
        @flat topic: Ref<TOPIC>,
        /// The record's outputs on the topic.
        @single count: Option<u64>,
        /// The record's share of the topic's outputs.
        @single share: Option<f64>,
    }

    /// A role of the same organisation: funder, institution or publisher.
    Role {
        /// funder, institution or publisher.
        role: Option<Code<{ Table::Role as u8 }>>,
        /// Id of the organisation's record in that role.
        id: Option<AnyRef>,
        /// Outputs in that role.
        outputs_count: Option<u64>,
    }

    /// URLs of a taxonomy node in other systems.
    TaxonomyIds {
        /// Wikidata.
        wikidata: Option<String>,
        /// Wikipedia.
        wikipedia: Option<String>,
    }
}
