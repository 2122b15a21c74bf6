//! A seeded generator of large dumps in the layout of today's OpenAlex snapshot, for scale tests and benchmarks.
//!
//! Every record is a pure function of (plan, entity, ordinal). No record depends on the previous one, so threads write
//! parts in parallel, memory stays constant, and the bytes do not depend on the number of threads. A reference repeats
//! the name, country or type of the referenced record, because both call the same function.
//!
//! ```
//! use pinakes_generate::{Entity, Plan, record};
//!
//! let plan = Plan::new(1000, 1);
//! let mut line = Vec::new();
//! record(&plan, Entity::Authors, 7, &mut line);
//! assert!(line.starts_with(b"{\"id\":\"https://openalex.org/A5"));
//! ```

mod author;
mod dates;
mod dump;
mod emit;
mod funder;
mod institution;
mod names;
pub mod parquet;
mod places;
mod publisher;
mod random;
mod source;
mod statistics;
mod taxonomy;
mod text;
mod work;

use std::sync::Arc;

use emit::Id;
use names::words::NameWords;
use random::{Shuffle, Stream, mix, square_share};

pub use dump::{EntitySummary, Error, Summary, write_dump};
pub use random::Random;

/// The most outputs of a plan. Author ids are distinct up to this number.
pub const OUTPUTS_MAX: u64 = 250_000_000;

/// The number of distinct author ids.
const AUTHORS_MAX: u64 = 99_999_989;

/// The power of [`Random::skewed`] for references: rank r is referenced in proportion to r^-½.
const POPULARITY: u32 = 2;

/// The most authors of a plan of names. The ids of merged authors are distinct up to this number.
pub const NAMES_MAX: u64 = 90_000_000;

/// Distinct words in a plan of names, unless the plan says otherwise.
pub const VOCABULARY: u32 = 300_000;

/// The most distinct words of a plan of names.
pub const VOCABULARY_MAX: u32 = 5_000_000;

/// Records in one part file, unless the plan says otherwise.
pub const PART_RECORDS: u64 = 10_000;

/// Records in one part file of a lean plan or one of names, unless the plan says otherwise.
pub const LEAN_PART_RECORDS: u64 = 100_000;

/// The folders of a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entity {
    /// Scholarly outputs, by far the largest share of the bytes.
    Works,
    /// 0.35 for each work, at least 50.
    Authors,
    /// Journals, repositories and so on: one for each 400 works, at least 40.
    Sources,
    /// One for each 500 works, at least 40.
    Institutions,
    /// One for each 5,000 works, at least 10.
    Publishers,
    /// One for each 2,000 works, at least 15.
    Funders,
    /// 4,516 from 20,000 works on, fewer below.
    Topics,
    /// Always 252.
    Subfields,
    /// Always 26.
    Fields,
    /// Always 4.
    Domains,
    /// Always 9.
    InstitutionTypes,
}

impl Entity {
    /// All entities, in the order in which their parts are written.
    pub const ALL: [Self; 11] = [
        Self::Works,
        Self::Authors,
        Self::Sources,
        Self::Institutions,
        Self::Publishers,
        Self::Funders,
        Self::Topics,
        Self::Subfields,
        Self::Fields,
        Self::Domains,
        Self::InstitutionTypes,
    ];

    /// Name of the folder.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Authors => "authors",
            Self::Sources => "sources",
            Self::Institutions => "institutions",
            Self::Publishers => "publishers",
            Self::Funders => "funders",
            Self::Topics => "topics",
            Self::Subfields => "subfields",
            Self::Fields => "fields",
            Self::Domains => "domains",
            Self::InstitutionTypes => "institution-types",
        }
    }

    /// How many records a full dump of `outputs` works holds.
    fn records(self, outputs: u64) -> u64 {
        match self {
            Self::Works => outputs,
            Self::Authors => (outputs * 35 / 100).max(50),
            Self::Sources => (outputs / 400).max(40),
            Self::Institutions => (outputs / 500).max(40),
            Self::Publishers => (outputs / 5000).max(10),
            Self::Funders => (outputs / 2000).max(15),
            Self::Topics => 60 + outputs.min(20_000) * 4456 / 20_000,
            Self::Subfields => taxonomy::SUBFIELDS,
            Self::Fields => taxonomy::FIELDS,
            Self::Domains => taxonomy::DOMAINS,
            Self::InstitutionTypes => institution::TYPES.len() as u64,
        }
    }

    /// The most records a lean dump holds.
    fn records_max_lean(self) -> u64 {
        match self {
            Self::Authors => 20_000,
            Self::Sources | Self::Institutions => 2_000,
            Self::Publishers => 400,
            Self::Funders => 500,
            _ => u64::MAX,
        }
    }
}

/// The amount of detail in records.
#[derive(Clone, Debug)]
enum Detail {
    Full,
    Lean,
    /// Authors only, with names of these words.
    Names(Arc<NameWords>),
}

/// The content of a dump: size, seed and detail of its works. Equal plans give equal bytes.
#[derive(Clone, Debug)]
pub struct Plan {
    outputs: u64,
    seed: u64,
    detail: Detail,
    part_records: u64,
    /// Records of each entity.
    counts: [u64; 11],
    /// For each entity, a shuffle of everything that references may name: the records and, in a lean plan, authors
    /// without a record.
    shuffles: [Shuffle; 11],
}

impl Plan {
    /// A plan of `outputs` works, brought into `1..=`[`OUTPUTS_MAX`].
    pub fn new(outputs: u64, seed: u64) -> Self {
        let outputs = outputs.clamp(1, OUTPUTS_MAX);
        let counts = Entity::ALL.map(|entity| entity.records(outputs));
        let shuffles = Entity::ALL
            .map(|entity| Shuffle::new(counts[entity as usize], seed ^ mix(entity as u64)));
        Self { outputs, seed, detail: Detail::Full, part_records: PART_RECORDS, counts, shuffles }
    }

    /// A plan of short works, under 1 kB each, with the members by which lists filter and sort. Other entities have
    /// few records; most referenced authors have none.
    pub fn lean(outputs: u64, seed: u64) -> Self {
        let mut plan = Self::new(outputs, seed);
        for entity in Entity::ALL {
            let count = &mut plan.counts[entity as usize];
            *count = entity.records_max_lean().min(*count);
            let referenced = match entity {
                Entity::Authors => (plan.outputs / 2).clamp(*count, AUTHORS_MAX),
                _ => *count,
            };
            plan.shuffles[entity as usize] = Shuffle::new(referenced, seed ^ mix(entity as u64));
        }
        plan.detail = Detail::Lean;
        plan.part_records = LEAN_PART_RECORDS;
        plan
    }

    /// A plan of authors only, under 200 bytes each: a name of three words out of `vocabulary` words, and counts. One
    /// author in five has one or two alternative names of the same words. `authors` is clamped to
    /// `1..=`[`NAMES_MAX`], `vocabulary` to `1..=`[`VOCABULARY_MAX`].
    pub fn names(authors: u64, vocabulary: u32, seed: u64) -> Self {
        let authors = authors.clamp(1, NAMES_MAX);
        let words = NameWords::new(vocabulary.clamp(1, VOCABULARY_MAX));
        let counts = Entity::ALL.map(|entity| if entity == Entity::Authors { authors } else { 0 });
        let shuffles = Entity::ALL
            .map(|entity| Shuffle::new(counts[entity as usize], seed ^ mix(entity as u64)));
        let detail = Detail::Names(Arc::new(words));
        Self { outputs: 0, seed, detail, part_records: LEAN_PART_RECORDS, counts, shuffles }
    }

    /// The same records in parts of at most `part_records` lines (at least 1).
    #[must_use]
    pub fn with_part_records(mut self, part_records: u64) -> Self {
        self.part_records = part_records.max(1);
        self
    }

    /// Number of works.
    pub fn outputs(&self) -> u64 {
        self.outputs
    }

    /// The seed of all content.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The most lines of a part file.
    pub fn part_records(&self) -> u64 {
        self.part_records
    }

    /// Tells whether the plan is lean: short works, few records of other entities, many authors without a record.
    pub fn is_lean(&self) -> bool {
        matches!(self.detail, Detail::Lean)
    }

    /// The words of a plan of names.
    pub(crate) fn name_words(&self) -> Option<&NameWords> {
        match &self.detail {
            Detail::Names(words) => Some(words),
            _ => None,
        }
    }

    /// Number of records of an entity, without older copies.
    pub fn count(&self, entity: Entity) -> u64 {
        self.counts[entity as usize]
    }

    /// Number of ordinals that [`Plan::draw`] draws from. Ordinals past the count have no record.
    pub(crate) fn referenced(&self, entity: Entity) -> u64 {
        self.shuffles[entity as usize].count()
    }

    /// The draws of one stream of one record.
    pub(crate) fn random(&self, entity: Entity, ordinal: u64, stream: Stream) -> Random {
        Random::new(
            mix(self.seed ^ mix(ordinal)).wrapping_add(((entity as u64) << 8) | stream as u64),
        )
    }

    /// Draws the ordinal of a record to refer to. Popular records come more often.
    pub(crate) fn draw(&self, entity: Entity, random: &mut Random) -> u64 {
        self.shuffles[entity as usize].ordinal(random.skewed(self.referenced(entity), POPULARITY))
    }

    /// The average number of `references` drawn by [`Plan::draw`] that name an existing record.
    pub(crate) fn expected(&self, entity: Entity, ordinal: u64, references: f64) -> f64 {
        let rank = self.shuffles[entity as usize].rank(ordinal);
        references * square_share(rank, self.referenced(entity))
    }

    /// Average citations in the whole dump.
    pub(crate) fn citations(&self) -> f64 {
        self.outputs as f64 * 35.0
    }

    /// The id of a record. Ordinals past the count give ids without a record.
    pub(crate) fn id(&self, entity: Entity, ordinal: u64) -> Id {
        // All moduli are primes above the largest count, so ids are distinct.
        let scattered = |modulus: u64| (ordinal * 746_244_671 + self.seed % 1_000_003) % modulus;
        match entity {
            Entity::Works => Id("W", 2_000_000_000 + scattered(2_147_483_647)),
            Entity::Authors => Id("A", 5_000_000_000 + scattered(AUTHORS_MAX)),
            Entity::Sources => Id("S", 4_306_000_000 + scattered(9_999_991)),
            Entity::Institutions => Id("I", 4_210_000_000 + scattered(9_999_991)),
            Entity::Publishers => Id("P", 4_310_000_000 + scattered(999_983)),
            Entity::Funders => Id("F", 4_320_000_000 + scattered(999_983)),
            Entity::Topics => Id("T", 10_001 + ordinal),
            Entity::Subfields => Id("subfields/", taxonomy::subfield_number(ordinal)),
            Entity::Fields => Id("fields/", 11 + ordinal),
            Entity::Domains => Id("domains/", 1 + ordinal),
            // Their records show codes instead of numbers, and nothing refers to them by number.
            Entity::InstitutionTypes => Id("institution-types/", 1 + ordinal),
        }
    }
}

/// Appends the newest copy of a record, one line of JSON without its line ending.
///
/// Cost: about 20 µs for a work, less for most other entities. A field or domain sums over all topics.
///
/// # Panics
///
/// May panic if `ordinal` is not below [`Plan::count`].
pub fn record(plan: &Plan, entity: Entity, ordinal: u64, out: &mut Vec<u8>) {
    match entity {
        Entity::Works => work::record(plan, ordinal, work::Version::Newest, out),
        Entity::Authors => author::record(plan, ordinal, out),
        Entity::Sources => source::record(plan, ordinal, out),
        Entity::Institutions => institution::record(plan, ordinal, out),
        Entity::Publishers => publisher::record(plan, ordinal, out),
        Entity::Funders => funder::record(plan, ordinal, out),
        Entity::Topics => taxonomy::topic(plan, ordinal, out),
        Entity::Subfields => taxonomy::subfield(plan, ordinal, out),
        Entity::Fields => taxonomy::field(plan, ordinal, out),
        Entity::Domains => taxonomy::domain(plan, ordinal, out),
        Entity::InstitutionTypes => institution::type_record(plan, ordinal, out),
    }
}

/// Appends the older copy of a work: the same id, an older `updated_date`, fewer citations. One work in a hundred has
/// an older copy.
pub fn older_record(plan: &Plan, ordinal: u64, out: &mut Vec<u8>) {
    work::record(plan, ordinal, work::Version::Older, out);
}

/// The number of author ordinals past those of [`Plan::draw`] that are referenced or merged and have no record.
pub(crate) fn unresolved_authors(plan: &Plan) -> u64 {
    (plan.count(Entity::Authors) / 100).max(8)
}
