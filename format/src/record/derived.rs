//! Values that follow from several members of a record, for filters and groups alone.
//!
//! A path of a key usually leads through members. Some keys need two members of the same element, such as the authors
//! that are corresponding, or a number of elements. Each such value is a row of [`OUTPUT_VALUES`] or [`AUTHOR_VALUES`], whose name stands
//! where a path does:
//!
//! ```text
//! best_oa_venue 2, additional_venues [{…}, {license: cc-by}]   →  best_oa_venue.license  cc-by
//! authors [{id: A1, is_corresponding: true}, {id: A2}]         →  corresponding_authors.id  A1
//!                                                                 authors.count  2
//! full_name Ada King                                           →  full_name.last  King
//! ```
//!
//! No record holds these values, so they cost no bytes in records.

use std::sync::LazyLock;

use crate::entity::Entity;
use crate::json::record_reader::RecordReader;
use crate::record::author::{Author, NameParts, name_parts};
use crate::record::gather::{Gather, Gathered, PathTree};
use crate::record::output::{
    Authorship, Output, PrimaryVenue, PrimaryVenueSource, PrintedOrcid, Venue, VenueSource,
    is_keyword_id,
};
use crate::record::schema::Schema;
use crate::record::shared::*;
use crate::record::source::SourceKind;
use crate::record::stored::StoredObject;
use crate::record::value::{Code, Orcid, Ref, Table};
use crate::storage::ReadError;

/// The number of the first derived value in the path of a key. Members have lower numbers.
pub(super) const DERIVED_FROM: usize = 1 << 16;

/// The places of an output's members.
type Places<'r> = <Output as StoredObject>::Members<'r>;
/// The places of an author's members.
type PlacesOfAuthor<'r> = <Author as StoredObject>::Members<'r>;
type Visit<'v, 'r> = &'v mut dyn FnMut(Gathered<'r>);

/// A value that follows from several members of a record of type `R`.
pub(super) struct Derived<R: StoredObject> {
    value: DerivedValue,
    gather: for<'r> fn(&R::Members<'r>, Visit<'_, 'r>) -> Result<(), ReadError>,
}

/// Path and type of a derived value.
pub(super) struct DerivedValue {
    /// The path, or its beginning if the value is a reference.
    pub name: &'static str,
    /// Whether a record may have several values.
    pub is_many: bool,
    pub schema: Schema,
}

/// The derived values of the object with a name, which may be the record of an entity.
pub(super) fn derived_values(object: &str) -> Vec<&'static DerivedValue> {
    match object {
        "Output" => OUTPUT_VALUES.iter().map(|derived| &derived.value).collect(),
        "Author" => AUTHOR_VALUES.iter().map(|derived| &derived.value).collect(),
        _ => Vec::new(),
    }
}

/// The derived values of authors.
static AUTHOR_VALUES: [Derived<Author>; 4] = [
    one("full_name.first", Schema::Text, |of, visit| name_part(of, 0, visit)),
    one("full_name.middle", Schema::Text, |of, visit| name_part(of, 1, visit)),
    one("full_name.last", Schema::Text, |of, visit| name_part(of, 2, visit)),
    one("full_name.suffix", Schema::Text, |of, visit| name_part(of, 3, visit)),
];

/// The derived values of outputs.
static OUTPUT_VALUES: [Derived<Output>; 24] = [
    many("keywords.id", Schema::Text, |of, visit| keywords(of, visit)),
    one("authors.count", INTEGER, |of, visit| count(of[AUTHORS], visit)),
    one("topics.count", INTEGER, |of, visit| count(of[TOPICS], visit)),
    one("authors.affiliations.count", INTEGER, |of, visit| {
        count_distinct(of, visit, |places, visit| {
            each_value::<Affiliations>(places.affiliations, visit)
        })
    }),
    one("authors.countries.count", INTEGER, |of, visit| {
        count_distinct(of, visit, |places, visit| each_value::<Countries>(places.countries, visit))
    }),
    many("corresponding_authors", Schema::Reference(Entity::Author), |of, visit| {
        each_author(of, |author| match is_true(author.is_corresponding) {
            true => each_value::<Ref<AUTHOR>>(author.author, visit),
            false => Ok(()),
        })
    }),
    many("corresponding_institutions", Schema::Reference(Entity::Institution), |of, visit| {
        each_author(of, |author| match is_true(author.is_corresponding) {
            true => each_value::<Affiliations>(author.affiliations, visit),
            false => Ok(()),
        })
    }),
    // Few outputs have assertions, so that groups read records.
    many("institution_assertions", Schema::Reference(Entity::Institution), |of, visit| {
        each_value::<Affiliations>(of[const { Output::index_of("institution_assertions") }], visit)
    }),
    one("has_references", Schema::Boolean, |of, visit| {
        let mut cites = of[CITES];
        let has_references = cites.flag() && cites.number()? > 0;
        visit(Gathered::Boolean(has_references));
        Ok(())
    }),
    one("has_pdf_url", Schema::Boolean, |of, visit| {
        let mut has_url = false;
        each_venue(of, |_, mut venue| {
            has_url |= venue.pdf_url.flag();
            Ok(())
        })?;
        visit(Gathered::Boolean(has_url));
        Ok(())
    }),
    one("has_raw_affiliation_strings", Schema::Boolean, |of, visit| {
        let mut has_strings = false;
        each_author(of, |author| {
            let mut strings = author.raw_affiliation_strings;
            has_strings |= strings.flag() && strings.count()? > 0;
            Ok(())
        })?;
        visit(Gathered::Boolean(has_strings));
        Ok(())
    }),
    many("authors.raw_orcid", Schema::OrcidUrl, |of, visit| raw_orcids(of, visit)),
    many("venues.landing_page_url", Schema::Text, |of, visit| {
        each_venue(of, |_, venue| each_value::<Option<String>>(venue.landing_page_url, visit))
    }),
    one("best_oa_venue.landing_page_url", Schema::Text, |of, visit| {
        best_venue(of, |venue| each_value::<Option<String>>(venue.landing_page_url, visit))
    }),
    one("best_oa_venue.raw_type", Schema::Code(Table::RawType), |of, visit| {
        best_venue(of, |venue| each_value::<RawType>(venue.raw_type, visit))
    }),
    many("open_venues.version", Schema::Code(Table::Version), |of, visit| {
        each_venue(of, |_, venue| match is_true(venue.is_oa) {
            true => each_value::<Version>(venue.version, visit),
            false => Ok(()),
        })
    }),
    many("open_venues.source.type", Schema::Code(Table::SourceType), |of, visit| {
        each_venue(of, |_, venue| match is_true(venue.is_oa) {
            true => venue.source_type(visit),
            false => Ok(()),
        })
    }),
    one("best_oa_venue.is_oa", Schema::Boolean, |of, visit| {
        best_venue(of, |venue| each_value::<Flag>(venue.is_oa, visit))
    }),
    one("best_oa_venue.license", Schema::Code(Table::License), |of, visit| {
        best_venue(of, |venue| each_value::<License>(venue.license, visit))
    }),
    one("best_oa_venue.version", Schema::Code(Table::Version), |of, visit| {
        best_venue(of, |venue| each_value::<Version>(venue.version, visit))
    }),
    one("best_oa_venue.is_accepted", Schema::Boolean, |of, visit| {
        best_venue(of, |venue| each_value::<Flag>(venue.is_accepted, visit))
    }),
    one("best_oa_venue.is_published", Schema::Boolean, |of, visit| {
        best_venue(of, |venue| each_value::<Flag>(venue.is_published, visit))
    }),
    one("best_oa_venue.source.type", Schema::Code(Table::SourceType), |of, visit| {
        best_venue(of, |venue| venue.source_type(visit))
    }),
    one("best_oa_venue.source", Schema::Reference(Entity::Source), |of, visit| {
        best_venue(of, |venue| venue.source_row(visit))
    }),
];

const AUTHORS: usize = Output::index_of("authors");
const TOPICS: usize = Output::index_of("topics");
const CITES: usize = Output::index_of("cites");

const fn one<R: StoredObject>(
    name: &'static str,
    schema: Schema,
    gather: for<'r> fn(&R::Members<'r>, Visit<'_, 'r>) -> Result<(), ReadError>,
) -> Derived<R> {
    Derived { value: DerivedValue { name, is_many: false, schema }, gather }
}

const fn many<R: StoredObject>(
    name: &'static str,
    schema: Schema,
    gather: for<'r> fn(&R::Members<'r>, Visit<'_, 'r>) -> Result<(), ReadError>,
) -> Derived<R> {
    Derived { value: DerivedValue { name, is_many: true, schema }, gather }
}

const INTEGER: Schema = Schema::Integer { signed: false, bits: 64 };

/// Gathers the derived values of the output at `from`, whose paths begin with the numbers of their rows.
pub(super) fn of_output<'r>(
    from: RecordReader<'r>,
    paths: &[(usize, PathTree)],
    visit: &mut dyn FnMut(usize, Gathered<'r>),
) -> Result<(), ReadError> {
    gather(&OUTPUT_VALUES, from, paths, visit)
}

/// Gathers the derived values of the author at `from`.
pub(super) fn of_author<'r>(
    from: RecordReader<'r>,
    paths: &[(usize, PathTree)],
    visit: &mut dyn FnMut(usize, Gathered<'r>),
) -> Result<(), ReadError> {
    gather(&AUTHOR_VALUES, from, paths, visit)
}

fn gather<'r, R: StoredObject>(
    all: &[Derived<R>],
    from: RecordReader<'r>,
    paths: &[(usize, PathTree)],
    visit: &mut dyn FnMut(usize, Gathered<'r>),
) -> Result<(), ReadError> {
    if paths.is_empty() {
        return Ok(());
    }
    let places = R::locate(&mut { from })?;
    for (number, below) in paths {
        let derived = number.checked_sub(DERIVED_FROM).and_then(|at| all.get(at));
        let derived = derived.ok_or(ReadError::Internal("a path leads to no member"))?;
        (derived.gather)(&places, &mut |value| {
            below.ends.iter().for_each(|end| visit(*end, value));
        })?;
    }
    Ok(())
}

/// Reads the values of one type at a place.
fn each_value<'r, T: Gather>(
    mut at: RecordReader<'r>,
    visit: Visit<'_, 'r>,
) -> Result<(), ReadError> {
    static END: LazyLock<PathTree> =
        LazyLock::new(|| PathTree { ends: vec![0], members: Vec::new() });
    T::gather(&mut at, &END, &mut |_, value| visit(value))
}

/// Whether a nullable boolean is there, and true.
fn is_true(mut at: RecordReader<'_>) -> bool {
    at.flag() && at.flag()
}

/// Counts the elements of a list; nothing of a list that is null.
fn count<'r>(mut list: RecordReader<'r>, visit: Visit<'_, 'r>) -> Result<(), ReadError> {
    if list.flag() {
        visit(Gathered::Integer(list.count()? as i64));
    }
    Ok(())
}

/// Counts the different references or codes that `each` finds in the authors of an output; nothing where the authors are
/// null.
fn count_distinct<'r>(
    of: &Places<'r>,
    visit: Visit<'_, 'r>,
    each: impl Fn(AuthorPlaces<'r>, Visit<'_, 'r>) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let mut authors = of[AUTHORS];
    if !authors.flag() {
        return Ok(());
    }
    let mut found: Vec<u32> = Vec::new();
    each_author(of, |author| {
        each(author, &mut |value| match value {
            Gathered::Reference(_, number) | Gathered::Code(number) => found.push(number),
            _ => {}
        })
    })?;
    found.sort_unstable();
    found.dedup();
    visit(Gathered::Integer(found.len() as i64));
    Ok(())
}

/// Visits the names of the keywords, and the ids that do not follow from a name.
fn keywords<'r>(of: &Places<'r>, visit: Visit<'_, 'r>) -> Result<(), ReadError> {
    let texts = |member: usize| {
        let mut texts: Vec<&'r str> = Vec::new();
        each_value::<Option<Vec<String>>>(of[member], &mut |text| {
            if let Gathered::Text(text) = text {
                texts.push(text);
            }
        })?;
        Ok::<_, ReadError>(texts)
    };
    let names = texts(const { Output::index_of("keywords") })?;
    let ids = texts(const { Output::index_of("keyword_ids") })?;
    for (at, name) in names.into_iter().enumerate() {
        visit(Gathered::Text(name));
        if let Some(id) = ids.get(at).filter(|id| !is_keyword_id(id, name)) {
            visit(Gathered::Text(id));
        }
    }
    Ok(())
}

/// Visits the ORCID iDs that a work prints. The iD of an author who has it stands with the author alone.
fn raw_orcids<'r>(of: &Places<'r>, visit: Visit<'_, 'r>) -> Result<(), ReadError> {
    let mut printed = of[const { Output::index_of("raw_orcids") }];
    if !printed.flag() {
        return Ok(());
    }
    let mut of_authors: Vec<u64> = Vec::new();
    for _ in 0..printed.count()? {
        let members = PrintedOrcid::locate(&mut printed)?;
        let mut own = members[const { PrintedOrcid::index_of("orcid") }];
        match own.flag() {
            true => visit(Gathered::Text(own.utf8()?)),
            false => {
                let mut author = members[const { PrintedOrcid::index_of("author") }];
                of_authors.push(author.number()?);
            }
        }
    }
    let mut at = 0;
    each_author(of, |author| {
        at += 1;
        match of_authors.contains(&(at - 1)) {
            true => each_value::<Option<Orcid>>(author.orcid, visit),
            false => Ok(()),
        }
    })
}

/// Visits a part of the longest name of an author.
fn name_part<'r>(
    of: &PlacesOfAuthor<'r>,
    part: usize,
    visit: Visit<'_, 'r>,
) -> Result<(), ReadError> {
    let mut given = of[const { Author::index_of("name_parts") }];
    if !given.flag() {
        return Ok(());
    }
    let mut texts = [None; 4];
    for (text, mut at) in texts.iter_mut().zip(NameParts::locate(&mut given)?) {
        if at.flag() {
            *text = Some(at.utf8()?);
        }
    }
    let mut name = of[const { Author::index_of("full_name") }];
    let text = match texts.iter().all(Option::is_none) && name.flag() {
        true => name_parts(name.utf8()?)[part],
        false => texts[part].unwrap_or_default(),
    };
    if !text.is_empty() {
        visit(Gathered::Text(text));
    }
    Ok(())
}

type Flag = Option<bool>;
type RawType = Option<Code<{ Table::RawType as u8 }>>;
type License = Option<Code<{ Table::License as u8 }>>;
type Version = Option<Code<{ Table::Version as u8 }>>;
type Affiliations = Option<Vec<Ref<INSTITUTION>>>;
type Countries = Option<Vec<Country>>;

/// The places of the members of one author.
struct AuthorPlaces<'r> {
    author: RecordReader<'r>,
    orcid: RecordReader<'r>,
    affiliations: RecordReader<'r>,
    countries: RecordReader<'r>,
    is_corresponding: RecordReader<'r>,
    raw_affiliation_strings: RecordReader<'r>,
}

fn each_author<'r>(
    of: &Places<'r>,
    mut visit: impl FnMut(AuthorPlaces<'r>) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let mut authors = of[AUTHORS];
    if !authors.flag() {
        return Ok(());
    }
    for _ in 0..authors.count()? {
        let members = Authorship::locate(&mut authors)?;
        visit(AuthorPlaces {
            author: members[const { Authorship::index_of("author") }],
            orcid: members[const { Authorship::index_of("orcid") }],
            affiliations: members[const { Authorship::index_of("affiliations") }],
            countries: members[const { Authorship::index_of("countries") }],
            is_corresponding: members[const { Authorship::index_of("is_corresponding") }],
            raw_affiliation_strings: members[const { Authorship::index_of("raw_affiliation_strings") }],
        })?;
    }
    Ok(())
}

/// The places of the members that all venues have.
struct VenuePlaces<'r> {
    is_primary: bool,
    is_oa: RecordReader<'r>,
    landing_page_url: RecordReader<'r>,
    pdf_url: RecordReader<'r>,
    license: RecordReader<'r>,
    version: RecordReader<'r>,
    is_accepted: RecordReader<'r>,
    is_published: RecordReader<'r>,
    source: RecordReader<'r>,
    raw_type: RecordReader<'r>,
}

/// The places of the members of a venue of either type.
macro_rules! venue_places {
    ($venue:ident, $from:expr, $is_primary:expr) => {{
        let members = $venue::locate($from)?;
        VenuePlaces {
            is_primary: $is_primary,
            is_oa: members[const { $venue::index_of("is_oa") }],
            landing_page_url: members[const { $venue::index_of("landing_page_url") }],
            pdf_url: members[const { $venue::index_of("pdf_url") }],
            license: members[const { $venue::index_of("license") }],
            version: members[const { $venue::index_of("version") }],
            is_accepted: members[const { $venue::index_of("is_accepted") }],
            is_published: members[const { $venue::index_of("is_published") }],
            source: members[const { $venue::index_of("source") }],
            raw_type: members[const { $venue::index_of("raw_type") }],
        }
    }};
}

/// Visits the venues, each with its number: the primary venue is 0, the n-th of the additional venues n.
fn each_venue<'r>(
    of: &Places<'r>,
    mut visit: impl FnMut(u64, VenuePlaces<'r>) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let mut primary = of[const { Output::index_of("primary_venue") }];
    if primary.flag() {
        visit(0, venue_places!(PrimaryVenue, &mut primary, true))?;
    }
    let mut additional = of[const { Output::index_of("additional_venues") }];
    if additional.flag() {
        for number in 1..=additional.count()? as u64 {
            visit(number, venue_places!(Venue, &mut additional, false))?;
        }
    }
    Ok(())
}

/// Visits the best open venue, if the output has one.
fn best_venue<'r>(
    of: &Places<'r>,
    mut visit: impl FnMut(VenuePlaces<'r>) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let mut best = of[const { Output::index_of("best_oa_venue") }];
    if !best.flag() {
        return Ok(());
    }
    let best = best.number()?;
    each_venue(of, |number, venue| if number == best { visit(venue) } else { Ok(()) })
}

impl<'r> VenuePlaces<'r> {
    fn source_row(mut self, visit: Visit<'_, 'r>) -> Result<(), ReadError> {
        match (self.source.flag(), self.is_primary) {
            (false, _) => Ok(()),
            (true, true) => {
                let members = PrimaryVenueSource::locate(&mut self.source)?;
                each_value::<Ref<SOURCE>>(members[SOURCE_ROW], visit)
            }
            (true, false) => {
                let members = VenueSource::locate(&mut self.source)?;
                each_value::<Ref<SOURCE>>(members[SOURCE_ROW], visit)
            }
        }
    }

    fn source_type(mut self, visit: Visit<'_, 'r>) -> Result<(), ReadError> {
        match (self.source.flag(), self.is_primary) {
            (false, _) => Ok(()),
            (true, true) => {
                let members = PrimaryVenueSource::locate(&mut self.source)?;
                each_value::<SourceKind>(members[SOURCE_TYPE], visit)
            }
            (true, false) => {
                let members = VenueSource::locate(&mut self.source)?;
                each_value::<SourceKind>(members[SOURCE_TYPE], visit)
            }
        }
    }
}

/// The members of the source of a venue of either type.
const SOURCE_ROW: usize = VenueSource::index_of("source");
const SOURCE_TYPE: usize = VenueSource::index_of("kind");
