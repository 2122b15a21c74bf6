//! The record of a source: a journal, repository or other venue.

use crate::entity::Entity;
use crate::json::record_reader::RecordReader;
use crate::json::render::{JsonWriter, Render, Shape};
use crate::record::declare::{object, record};
use crate::record::leaf::LeafValue;
use crate::record::schema::{Describe, Schema};
use crate::record::shared::*;
use crate::record::slot::{Slot, SlotNumber, read_code_or_none};
use crate::record::stored::{Stored, StoredObject, stored_object, wrapper};
use crate::record::value::*;
use crate::record::writer::RecordWriter;
use crate::storage::ReadError;
use crate::text::json;

object! {
    /// A journal, repository or other venue.
    Source {
        /// `HX_S` and a number.
        id: Id<SOURCE>,
        /// Linking ISSN.
        issn_l: Option<String>,
        /// All ISSNs.
        issn: Option<Vec<String>>,
        /// Display name.
        name: Option<String>,
        /// Name of the publisher or institution behind the source.
        host_organization_name: Option<HostName>,
        /// The publisher or institution behind the source.
        @key host_organization: Option<AnyRef>,
        /// Indexed outputs.
        outputs_count: Option<u64>,
        /// Open-access outputs.
        oa_outputs_count: Option<u64>,
        /// Citations received.
        cited_by_count: Option<u64>,
        /// Citation indicators.
        summary_stats: Option<SummaryStats>,
        /// Openness and indexing.
        @flat standing: Standing,
        /// Year of the first output.
        first_publication_year: Option<i32>,
        /// Year of the last output.
        last_publication_year: Option<i32>,
        /// Home page.
        homepage_url: Option<String>,
        /// Article processing charges.
        apc_prices: Option<Vec<ApcPrice>>,
        /// Article processing charge in US dollars.
        apc_usd: Option<i64>,
        /// Article processing charge in US dollars, by year.
        apc_usd_by_year: Option<YearPrices>,
        /// Country.
        country: Option<Country>,
        /// Societies behind the source.
        societies: Option<Vec<Society>>,
        /// Other titles.
        alternate_titles: Option<Vec<String>>,
        /// journal, repository or another type.
        kind as "type": Option<Code<{ Table::SourceType as u8 }>>,
        /// Counts by year.
        counts_by_year: Option<Vec<YearCounts>>,
        /// When the record changed.
        updated_date: Option<Timestamp>,
        /// When the record was made.
        created_date: Option<Timestamp>,
        /// Identifiers in other systems.
        @single ids: SourceIds,
        /// Topics of the record's outputs.
        topics: Option<Vec<TopicShare>>,
        /// Numbers of the concepts of the record's outputs.
        @key concepts: Option<Vec<u64>>,
        /// Journal metrics.
        @single metrics: Option<Metrics>,
        /// DOAJ entry.
        @single doaj: Option<Doaj>,
    }
}

record!(Source by outputs_count);

/// Declares [`Standing`], whose members have different orders in single records and in lists.
macro_rules! standing {
    (
        members { $($(#[doc = $doc:literal])* $member:ident: $type:ty,)* }
        single { $($single:ident)* }
        list { $($list:ident)* }
    ) => {
        object! {
            /// How open a source is, and who indexes it.
            Standing lists [$($list)*] { $($(#[doc = $doc])* $member: $type,)* }
        }

        impl Standing {
            /// Writes the members into the object that was begun.
            pub fn render_members(
                from: &mut RecordReader<'_>,
                writer: &mut JsonWriter<'_>,
            ) -> Result<(), ReadError> {
                let members = Standing::locate(from)?;
                match writer.shape() {
                    Shape::Single => {
                        $(writer.member(concat!(",\"", stringify!($single), "\":"));
                        let at = const { Standing::index_of(stringify!($single)) };
                        render_field(|standing: &Self| &standing.$single, members[at], writer)?;)*
                    }
                    Shape::List => {
                        $(writer.member(concat!(",\"", stringify!($list), "\":"));
                        let at = const { Standing::index_of(stringify!($list)) };
                        render_field(|standing: &Self| &standing.$list, members[at], writer)?;)*
                    }
                }
                Ok(())
            }
        }
    };
}

/// Renders a member of an object from its place. `_member` names its type.
fn render_field<T, M: Render>(
    _member: fn(&T) -> &M,
    mut from: RecordReader<'_>,
    writer: &mut JsonWriter<'_>,
) -> Result<(), ReadError> {
    M::render(&mut from, writer)
}

standing! {
    members {
        /// Whether all outputs are open access.
        is_oa: Option<bool>,
        /// Whether DOAJ lists the source.
        is_in_doaj: Option<bool>,
        /// Whether most outputs are open access.
        is_high_oa_rate: Option<bool>,
        /// Whether SciELO lists the source.
        is_in_scielo: Option<bool>,
        /// Whether the source runs on Open Journal Systems.
        is_ojs: Option<bool>,
        /// Whether the source is a preprint repository.
        is_preprint_repository: Option<bool>,
        /// Whether the source is a core source.
        is_core: Option<bool>,
        /// Year since which DOAJ lists the source.
        is_in_doaj_since_year: Option<i32>,
        /// Year since which most outputs are open access.
        is_high_oa_rate_since_year: Option<i32>,
        /// Year in which the source became open access.
        oa_flip_year: Option<i32>,
    }
    single {
        is_oa is_in_doaj is_high_oa_rate is_in_scielo is_ojs is_preprint_repository is_core
        is_in_doaj_since_year is_high_oa_rate_since_year oa_flip_year
    }
    list {
        is_oa is_in_doaj is_in_doaj_since_year is_high_oa_rate is_high_oa_rate_since_year
        is_in_scielo is_ojs is_preprint_repository is_core oa_flip_year
    }
}

object! {
    /// A price in a currency.
    ApcPrice {
        /// Amount.
        price: Option<i64>,
        /// Currency.
        currency: Option<Currency>,
    }

    /// The price of one year.
    YearPrice {
        /// Year.
        year: i32,
        /// The price in US dollars.
        price: Option<i64>,
    }

    /// A society behind a source.
    Society {
        /// URL.
        url: Option<String>,
        /// Its name.
        organization: Option<String>,
    }

    /// Identifiers of a source in other systems.
    SourceIds {
        /// Microsoft Academic Graph.
        mag: Option<String>,
        /// OpenAlex URL.
        openalex: Option<String>,
        /// Wikidata.
        @key wikidata: Option<String>,
    }

    /// Journal metrics.
    Metrics {
        /// Scopus.
        scopus: Option<Scopus>,
        /// Web of Science.
        web_of_science: Option<WebOfScience>,
        /// ABDC journal quality list.
        abdc: Option<Abdc>,
    }

    /// Metrics from Scopus and SCImago.
    Scopus {
        /// Whether the source is indexed today.
        active: Option<bool>,
        /// Years covered.
        coverage: Option<String>,
        /// Number of documents.
        doc_count: Option<i64>,
        /// Percentile.
        percent: Option<i64>,
        /// Rank in the category.
        rank: Option<String>,
        /// Number of citations.
        citations: Option<i64>,
        /// Source normalized impact per paper.
        snip: Option<f64>,
        /// SCImago journal rank.
        sjr: Option<f64>,
        /// CiteScore.
        citescore: Option<f64>,
        /// Share of documents cited.
        percent_cited: Option<i64>,
        /// Quartile.
        quartile: Option<String>,
        /// Category.
        subject_category: Option<String>,
        /// Type of source.
        kind as "type": Option<String>,
    }

    /// Metrics from Journal Citation Reports.
    WebOfScience {
        /// ISSN.
        issn: Option<String>,
        /// Electronic ISSN.
        eissn: Option<String>,
        /// Issues a year.
        issues_per_year: Option<i64>,
        /// First year covered.
        start_year: Option<i64>,
        /// Journal impact factor.
        jif: Option<f64>,
        /// Five-year impact factor.
        five_year_jif: Option<f64>,
        /// Best ranking.
        best_ranking: Option<f64>,
        /// Whether the source is indexed today.
        active: Option<bool>,
        /// Quartile.
        quartile: Option<String>,
        /// Indexes.
        index: Option<Vec<NamedIndex>>,
        /// Category.
        subject_category: Option<String>,
        /// Open-access status.
        open_access_status: Option<String>,
    }

    /// An index of Web of Science.
    NamedIndex {
        /// Code.
        code: Option<String>,
        /// Its name.
        name: Option<String>,
    }

    /// ABDC journal quality list.
    Abdc {
        /// A*, A, B or C.
        rating: Option<String>,
    }

    /// DOAJ entry of a source.
    Doaj {
        /// ISSN.
        issn: Option<String>,
        /// Languages.
        languages: Option<Vec<String>>,
        /// Licences.
        licenses: Option<Vec<DoajLicense>>,
        /// Subjects.
        subjects: Option<Vec<String>>,
        /// Year since which the source is open access.
        open_access_since: Option<String>,
        /// URLs with labels.
        reference as "ref": Option<Vec<DoajReference>>,
        /// Weeks from submission to publication.
        publication_weeks: Option<String>,
        /// Charges.
        apc: Option<Vec<DoajApc>>,
    }

    /// A licence listed by DOAJ.
    DoajLicense {
        /// Licence type, for example CC BY.
        kind as "type": Option<String>,
        /// URL.
        url: Option<String>,
        /// Icons.
        icon_urls: Option<Vec<String>>,
    }

    /// A URL listed by DOAJ.
    DoajReference {
        /// Label of the URL.
        name: Option<String>,
        /// URL.
        url: Option<String>,
    }

    /// A charge listed by DOAJ.
    DoajApc {
        /// Currency.
        currency: Option<String>,
        /// Amount.
        price: Option<String>,
    }
}

/// The name of a source's host: the name given with the record, else the name of the host's record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostName {
    /// The name given with the record.
    pub given: Option<String>,
    /// The host, if it is a publisher.
    pub publisher: Option<Ref<PUBLISHER>>,
    /// The host, if it is an institution.
    pub institution: Option<Ref<INSTITUTION>>,
}

stored_object! {
    HostName {
        given: Option<String>,
        publisher: Option<Ref<PUBLISHER>>,
        institution: Option<Ref<INSTITUTION>>,
    }
}

impl HostName {
    /// Reads the next value of a record: the name, or the record that has the name.
    pub(super) fn shown<'r>(from: &mut RecordReader<'r>) -> Result<LeafValue<'r>, ReadError> {
        let [mut given, mut publisher, mut institution] = HostName::locate(from)?;
        if given.flag() {
            return given.text().map(LeafValue::Text);
        }
        if publisher.flag() {
            return Ok(LeafValue::NameOf(Entity::Publisher, publisher.reference()?));
        }
        if institution.flag() {
            return Ok(LeafValue::NameOf(Entity::Institution, institution.reference()?));
        }
        Ok(LeafValue::Null)
    }
}

/// The type of a venue's source: the type in the source's record, else the type given with the
/// venue.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SourceKind {
    /// The symbol or row of the source.
    pub source: u32,
    /// The code of the type, or [`NO_CODE`].
    pub code: u32,
}

impl Stored for SourceKind {
    fn write(&self, to: &mut RecordWriter) {
        to.reference(self.source);
        to.code_or_none(self.code);
    }

    fn read(from: &mut RecordReader<'_>) -> Result<Self, ReadError> {
        Ok(SourceKind { source: from.reference()?, code: read_code_or_none(from)? })
    }

    fn skip(from: &mut RecordReader<'_>) -> Result<(), ReadError> {
        SourceKind::read(from).map(|_| ())
    }

    fn slots(
        from: &mut RecordReader<'_>,
        visit: &mut dyn FnMut(Slot<SlotNumber>),
    ) -> Result<(), ReadError> {
        let source = SlotNumber::reference(from)?;
        visit(Slot::SourceType { source, code: SlotNumber::code_or_none(from)? });
        Ok(())
    }
}

/// Prices by year: an array in single records, an object in lists.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct YearPrices(pub Vec<YearPrice>);

impl Describe for YearPrices {
    fn schema() -> Schema {
        Schema::ByShape {
            single: Box::new(Vec::<YearPrice>::schema()),
            list: Box::new(Schema::YearMap(Box::new(i64::schema()))),
        }
    }
}

wrapper!(YearPrices(Vec<YearPrice>));

by_shape!(YearPrices, |from, writer| single <Vec<YearPrice>>::render(from, writer), list {
    let object = writer.begin_object();
    for _ in 0..from.count()? {
        let [mut year, price] = YearPrice::locate(from)?;
        writer.member(",\"");
        json::signed(&mut writer.out, year.signed()?);
        writer.member("\":");
        render_field(|price: &YearPrice| &price.price, price, writer)?;
    }
    writer.end_object(object);
    Ok(())
});
