//! The record of a source: a journal, repository or other venue.

use std::mem::offset_of;

use rkyv::primitive::ArchivedU32;
use rkyv::{Archive, Deserialize, Serialize};

use crate::entity::Entity;
use crate::json::location::ValueLocation;
use crate::json::render::{CurrentRecord, Page, RecordBytes, RecordStore, Render, Shape};
use crate::json::select::{Select, SelectError, SelectedValue, Selection, SelectionWriter};
use crate::record::access_stored;
use crate::record::columns::{Column, Columns, OTHER_MEMBERS, fill, put_text};
use crate::record::declare::{object, record};
use crate::record::schema::{Describe, Schema};
use crate::record::shared::*;
use crate::record::slot::{Slot, Slots, no_slots};
use crate::record::value::*;
use crate::storage::error::ReadError;
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

        impl ArchivedStanding {
            /// Writes the members into the object that was begun.
            ///
            /// # Errors
            ///
            /// If the bytes are damaged.
            pub fn render_members(at: ValueLocation<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
                match page.shape() {
                    Shape::Single => {
                        $(page.member(concat!(",\"", stringify!($single), "\":"));
                        render_field(|standing: &Self| &standing.$single, offset_of!(Self, $single), at, page)?;)*
                    }
                    Shape::List => {
                        $(page.member(concat!(",\"", stringify!($list), "\":"));
                        render_field(|standing: &Self| &standing.$list, offset_of!(Self, $list), at, page)?;)*
                    }
                }
                Ok(())
            }
        }
    };
}

/// Renders the member of an object that is `bytes` after the object. `_member` names its type.
fn render_field<T, M: Render>(
    _member: fn(&T) -> &M,
    bytes: usize,
    object: ValueLocation<'_>,
    page: &mut Page<'_>,
) -> Result<(), ReadError> {
    M::render_at(object.member(bytes), page)
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
}

object! {
    /// The price of one year.
    YearPrice {
        /// Year.
        year: i32,
        /// The price in US dollars.
        price: Option<i64>,
    }
}

object! {
    /// A society behind a source.
    Society {
        /// URL.
        url: Option<String>,
        /// Its name.
        organization: Option<String>,
    }
}

object! {
    /// Identifiers of a source in other systems.
    SourceIds {
        /// Microsoft Academic Graph.
        mag: Option<String>,
        /// OpenAlex URL.
        openalex: Option<String>,
    }
}

object! {
    /// Journal metrics.
    Metrics {
        /// Scopus.
        scopus: Option<Scopus>,
        /// Web of Science.
        web_of_science: Option<WebOfScience>,
        /// ABDC journal quality list.
        abdc: Option<Abdc>,
    }
}

object! {
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
}

object! {
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
}

object! {
    /// An index of Web of Science.
    NamedIndex {
        /// Code.
        code: Option<String>,
        /// Its name.
        name: Option<String>,
    }
}

object! {
    /// ABDC journal quality list.
    Abdc {
        /// A*, A, B or C.
        rating: Option<String>,
    }
}

object! {
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
}

object! {
    /// A licence listed by DOAJ.
    DoajLicense {
        /// Licence type, for example CC BY.
        kind as "type": Option<String>,
        /// URL.
        url: Option<String>,
        /// Icons.
        icon_urls: Option<Vec<String>>,
    }
}

object! {
    /// A URL listed by DOAJ.
    DoajReference {
        /// Label of the URL.
        name: Option<String>,
        /// URL.
        url: Option<String>,
    }
}

object! {
    /// A charge listed by DOAJ.
    DoajApc {
        /// Currency.
        currency: Option<String>,
        /// Amount.
        price: Option<String>,
    }
}

/// The name of a source's host: the name given with the record, else the name of the host's record.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct HostName {
    /// The name given with the record.
    pub given: Option<String>,
    /// The host, if it is a publisher.
    pub publisher: Option<Ref<PUBLISHER>>,
    /// The host, if it is an institution.
    pub institution: Option<Ref<INSTITUTION>>,
}

impl Describe for HostName {
    fn schema() -> Schema {
        Schema::Nullable(Box::new(Schema::Text))
    }
}

impl Slots for ArchivedHostName {
    fn slots<'a>(&'a self, visit: &mut impl FnMut(Slot<&'a ArchivedU32>)) {
        // The interface shows the name alone, so the references count as copies.
        for host in self.publisher.iter().map(|host| &host.0) {
            visit(Slot::Copy(host));
        }
        for host in self.institution.iter().map(|host| &host.0) {
            visit(Slot::Copy(host));
        }
    }
}

impl ArchivedHostName {
    fn name<'s>(&'s self, store: &'s dyn RecordStore) -> Result<Option<&'s str>, ReadError> {
        let publisher = self.publisher.as_ref().map(|host| (Entity::Publisher, host.0));
        let institution = self.institution.as_ref().map(|host| (Entity::Institution, host.0));
        match (self.given.as_ref(), publisher.or(institution)) {
            (Some(given), _) => Ok(Some(given.as_str())),
            (None, Some((entity, row))) => store.row_name(entity, row.to_native()),
            (None, None) => Ok(None),
        }
    }
}

impl Render for ArchivedHostName {
    fn render_at(at: ValueLocation<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        if let Some(given) = at.member(offset_of!(ArchivedHostName, given)).nullable()? {
            return page.text_at(given);
        }
        let hosts = [
            (Entity::Publisher, offset_of!(ArchivedHostName, publisher)),
            (Entity::Institution, offset_of!(ArchivedHostName, institution)),
        ];
        for (entity, bytes) in hosts {
            if let Some(host) = at.member(bytes).nullable()? {
                return page.reference_name(entity, host.u32()?);
            }
        }
        page.null();
        Ok(())
    }
}

impl Columns for ArchivedHostName {
    fn put<C: Column>(&self, column: &mut C, page: &mut Page<'_>) -> Result<(), ReadError> {
        put_text(self.name(page.store())?.map(str::as_bytes), column);
        Ok(())
    }
}

/// The type of a venue's source: the type in the source's record, else the type given with the
/// venue.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq)]
pub struct SourceKind {
    /// The symbol or row of the source.
    pub source: u32,
    /// The code of the type, or [`NO_CODE`].
    pub code: u32,
}

impl Describe for SourceKind {
    fn schema() -> Schema {
        Schema::Nullable(Box::new(Schema::Code(Table::SourceType)))
    }
}

impl Slots for ArchivedSourceKind {
    fn slots<'a>(&'a self, visit: &mut impl FnMut(Slot<&'a ArchivedU32>)) {
        visit(Slot::SourceType { source: &self.source, code: &self.code });
    }
}

impl Columns for ArchivedSourceKind {
    fn put<C: Column>(&self, column: &mut C, page: &mut Page<'_>) -> Result<(), ReadError> {
        match self.code.to_native() {
            NO_CODE => column.null(),
            code => column.text("", page.store().code(code)?),
        }
        Ok(())
    }
}

impl Render for ArchivedSourceKind {
    fn render_at(at: ValueLocation<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        match at.member(offset_of!(ArchivedSourceKind, code)).u32()? {
            NO_CODE => {
                page.null();
                Ok(())
            }
            code => page.code(code),
        }
    }
}

/// Selected metrics of a venue's source, read from the source's record when rendered.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq)]
pub struct VenueMetrics(pub Ref<SOURCE>);

impl Describe for VenueMetrics {
    fn schema() -> Schema {
        Schema::Nullable(Box::new(MetricsCut::schema()))
    }
}

impl Slots for ArchivedVenueMetrics {
    fn slots<'a>(&'a self, visit: &mut impl FnMut(Slot<&'a ArchivedU32>)) {
        visit(Slot::Copy(&self.0.0));
    }
}

impl ArchivedVenueMetrics {
    /// The metrics of the source; `None` if the source has no record or no metrics.
    fn cut<'s>(&self, store: &'s dyn RecordStore) -> Result<Option<MetricsView<'s>>, ReadError> {
        let Some(source) = source_in(store, self.0.0.to_native())? else { return Ok(None) };
        let source = access_stored::<Source>(source.archived)?;
        Ok(source.metrics.as_ref().map(MetricsView))
    }
}

/// The archived record of the source in a row; `None` if the row has no record.
fn source_in<'s>(
    store: &'s dyn RecordStore,
    row: u32,
) -> Result<Option<RecordBytes<'s>>, ReadError> {
    let has_record = store.has_record(Entity::Source, row);
    has_record.then(|| store.record(Entity::Source, row)).transpose()
}

impl Columns for ArchivedVenueMetrics {
    fn put<C: Column>(&self, column: &mut C, page: &mut Page<'_>) -> Result<(), ReadError> {
        self.cut(page.store())?.put(column, page)
    }
}

impl Render for ArchivedVenueMetrics {
    fn render_at(at: ValueLocation<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
        let Some(source) = source_in(page.store(), at.u32()?)? else {
            page.null();
            return Ok(());
        };
        let root = ValueLocation::root::<ArchivedSource>(source.archived)?;
        let metrics = root.member(offset_of!(ArchivedSource, metrics));
        page.with_budget(source.archived.len(), |page| {
            page.nullable(metrics, MetricsView::render_at)
        })
    }
}

impl Select for ArchivedVenueMetrics {
    fn select(
        &self,
        selection: &Selection,
        writer: &mut SelectionWriter<'_, '_>,
    ) -> Result<(), SelectError> {
        let Some(source) = source_in(writer.page.store(), self.0.0.to_native())? else {
            writer.page.null();
            return Ok(());
        };
        let archived = access_stored::<Source>(source.archived)?;
        let outer = writer.page.swap_record(CurrentRecord::new(source));
        archived.metrics.as_ref().map(MetricsView).select(selection, writer)?;
        writer.page.swap_record(outer);
        Ok(())
    }
}

object! {
    /// Source metrics shown with a venue.
    MetricsCut {
        /// Scopus.
        scopus: Option<ScopusCut>,
        /// Web of Science.
        web_of_science: Option<WebOfScienceCut>,
        /// ABDC journal quality list.
        abdc: Option<Abdc>,
    }
}

object! {
    /// Scopus metrics shown with a venue.
    ScopusCut {
        /// Source normalized impact per paper.
        snip: Option<f64>,
        /// SCImago journal rank.
        sjr: Option<f64>,
        /// CiteScore.
        citescore: Option<f64>,
        /// Quartile.
        quartile: Option<String>,
    }
}

object! {
    /// Web of Science metrics shown with a venue.
    WebOfScienceCut {
        /// Journal impact factor.
        jif: Option<f64>,
        /// Five-year impact factor.
        five_year_jif: Option<f64>,
        /// Quartile.
        quartile: Option<String>,
        /// Indexes.
        indexes: Option<Vec<NamedIndex>>,
    }
}

/// Declares `$view`, which renders members of `$whole` in the order of the declaration of another
/// object.
macro_rules! view {
    ($view:ident of $whole:ident { $($key:literal: $member:ident $(as $below:ident)?,)* }) => {
        struct $view<'a>(&'a rkyv::Archived<$whole>);

        impl $view<'_> {
            fn render_at(at: ValueLocation<'_>, page: &mut Page<'_>) -> Result<(), ReadError> {
                let object = page.begin_object();
                $(
                    page.member(concat!(",\"", $key, "\":"));
                    let bytes = offset_of!(rkyv::Archived<$whole>, $member);
                    view!(@render $whole, $member, bytes, at, page, $($below)?);
                )*
                page.end_object(object);
                Ok(())
            }
        }

        impl Columns for $view<'_> {
            fn put<C: Column>(&self, column: &mut C, page: &mut Page<'_>) -> Result<(), ReadError> {
                let mut columns = column.object().iter_mut();
                $(
                    let value = view!(@columns self.0.$member, $($below)?);
                    fill(value, columns.next().ok_or(OTHER_MEMBERS)?, page)?;
                )*
                Ok(())
            }
        }

        impl Select for $view<'_> {
            fn select_value(
                &self,
                value: &SelectedValue,
                writer: &mut SelectionWriter<'_, '_>,
            ) -> Result<(), SelectError> {
                let (member, below) = match value {
                    SelectedValue::Member(member, below) => (*member, below),
                    SelectedValue::Constant(json) => {
                        writer.page.out.extend_from_slice(json.as_bytes());
                        return Ok(());
                    }
                    _ => return Err(ReadError::Internal("the selected member has no members of its own").into()),
                };
                let mut at = 0;
                $(
                    if member == at {
                        return view!(@select self.0.$member, $($below)?).select(below, writer);
                    }
                    at += 1;
                )*
                let _ = at;
                Err(ReadError::Internal("the member has no such value").into())
            }
        }
    };
    (@render $whole:ident, $member:ident, $bytes:ident, $at:ident, $page:ident,) => {
        render_field(|whole: &rkyv::Archived<$whole>| &whole.$member, $bytes, $at, $page)?
    };
    (@render $whole:ident, $member:ident, $bytes:ident, $at:ident, $page:ident, $below:ident) => {
        $page.nullable($at.member($bytes), $below::render_at)?
    };
    (@columns $value:expr,) => {
        &$value
    };
    (@columns $value:expr, $below:ident) => {
        &$value.as_ref().map($below)
    };
    (@select $value:expr,) => {
        $value
    };
    (@select $value:expr, $below:ident) => {
        $value.as_ref().map($below)
    };
}

view! {
    MetricsView of Metrics {
        "scopus": scopus as ScopusView,
        "web_of_science": web_of_science as WebOfScienceView,
        "abdc": abdc,
    }
}

view! {
    ScopusView of Scopus {
        "snip": snip,
        "sjr": sjr,
        "citescore": citescore,
        "quartile": quartile,
    }
}

view! {
    WebOfScienceView of WebOfScience {
        "jif": jif,
        "five_year_jif": five_year_jif,
        "quartile": quartile,
        "indexes": index,
    }
}

/// Prices by year: an array in single records, an object in lists.
#[derive(Archive, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct YearPrices(pub Vec<YearPrice>);

impl Describe for YearPrices {
    fn schema() -> Schema {
        Schema::ByShape {
            single: Box::new(Vec::<YearPrice>::schema()),
            list: Box::new(Schema::YearMap(Box::new(i64::schema()))),
        }
    }
}

no_slots!(ArchivedYearPrices);

by_shape!(ArchivedYearPrices, |at, page| single <rkyv::Archived<Vec<YearPrice>>>::render_at(at, page), list {
    let object = page.begin_object();
    for price in page.list_of::<ArchivedYearPrice>(at)? {
        page.member(",\"");
        let year = price.member(offset_of!(ArchivedYearPrice, year)).bytes().map(i32::from_le_bytes)?;
        json::signed(&mut page.out, i64::from(year));
        page.member("\":");
        let bytes = offset_of!(ArchivedYearPrice, price);
        render_field(|price: &ArchivedYearPrice| &price.price, bytes, price, page)?;
    }
    page.end_object(object);
    Ok(())
});
