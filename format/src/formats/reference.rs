//! An output as reference formats see it.

use serde::{Deserialize, Deserializer};

use crate::formats::kinds::{self, Kind};
use crate::formats::names::{Name, one_line};
use crate::formats::rich::Rich;
use crate::storage::ReadError;

/// The members of an output that references need, as a selection of an export has them.
pub const MEMBERS: &str = "id,doi,title,name,year,date,language,type,authors.name,authors.raw_author_name,biblio,\
    keywords,abstract,is_retracted,primary_venue.landing_page_url,primary_venue.raw_source_name,\
    primary_venue.source.name,primary_venue.source.type";
/// The members that pages of outputs show besides.
pub const PAGE_MEMBERS: &str = "authors.orcid,open_access.oa_url,primary_venue.pdf_url";
/// The members of outputs that tables show besides.
pub const TABLE_MEMBERS: &str = "cited_by_count";
/// The members of outputs that feeds show.
pub const FEED_MEMBERS: &str =
    "id,doi,title,name,authors.name,authors.raw_author_name,abstract,created_date,updated_date";
/// Address of DOIs.
const DOI_RESOLVER: &str = "https://doi.org/";

/// An output as its JSON shows it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Reference {
    /// The id of the record.
    pub id: Option<String>,
    doi: Option<String>,
    title: Option<String>,
    name: Option<String>,
    /// The year of publication.
    pub year: Option<i64>,
    date: Option<String>,
    language: Option<Language>,
    #[serde(rename = "type")]
    kind: Option<String>,
    authors: Option<Vec<Author>>,
    primary_venue: Option<Venue>,
    biblio: Option<Biblio>,
    open_access: Option<OpenAccess>,
    r#abstract: Option<String>,
    keywords: Option<Vec<Option<String>>>,
    /// Whether the work was retracted.
    #[serde(deserialize_with = "or_false")]
    pub is_retracted: bool,
    /// The number of outputs that cite it; only of tables.
    pub cited_by_count: Option<i64>,
}

/// A null counts as false.
fn or_false<'de, D: Deserializer<'de>>(value: D) -> Result<bool, D::Error> {
    Ok(Option::deserialize(value)?.unwrap_or_default())
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Language {
    code: Option<String>,
}

/// An author of an output.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Author {
    name: Option<String>,
    /// The name as the work prints it.
    raw_author_name: Option<String>,
    /// ORCID iD as URL; only of single records.
    pub orcid: Option<String>,
}

impl Author {
    /// The name as the record has it, not split; or else as the work prints it.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref().or(self.raw_author_name.as_deref())
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Venue {
    source: Option<Source>,
    landing_page_url: Option<String>,
    pdf_url: Option<String>,
    /// The name of the source as the work prints it.
    raw_source_name: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Source {
    name: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Biblio {
    volume: Option<String>,
    issue: Option<String>,
    first_page: Option<String>,
    last_page: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OpenAccess {
    oa_url: Option<String>,
}

impl Reference {
    /// Reads the JSON of an output.
    pub fn read(json: &[u8]) -> Result<Reference, ReadError> {
        serde_json::from_slice(json).map_err(|_| ReadError::Internal("an output is no reference"))
    }

    /// The type in each vocabulary.
    pub fn kind(&self) -> &'static Kind {
        let source = self.source().and_then(|source| source.kind.as_deref());
        kinds::find(self.kind.as_deref().unwrap_or_default(), source.unwrap_or_default())
    }

    /// The type, as the record names it.
    pub fn type_name(&self) -> Option<&str> {
        self.kind.as_deref()
    }

    fn source(&self) -> Option<&Source> {
        self.primary_venue.as_ref()?.source.as_ref()
    }

    /// The title, or else the name.
    pub fn title(&self) -> Option<Rich> {
        self.title.as_deref().or(self.name.as_deref()).map(Rich::of)
    }

    /// The name of the journal, the proceedings or the book: of the record that the venue refers to, or else as printed.
    pub fn container(&self) -> Option<String> {
        let known = self.source().and_then(|source| source.name.as_deref());
        // Some dumps print an address.
        let printed = || {
            let printed = self.primary_venue.as_ref()?.raw_source_name.as_deref()?;
            (!printed.contains("://")).then_some(printed)
        };
        known.or_else(printed).map(|name| Rich::of(name).text())
    }

    /// The authors with a name, in their order.
    pub fn authors(&self) -> impl Iterator<Item = (Name<'_>, &Author)> {
        let authors = self.authors.iter().flatten();
        let named = authors.filter_map(|author| Some((author.name()?, author)));
        let named = named.filter(|(name, _)| !name.trim().is_empty());
        named.map(|(name, author)| {
            (Name::printed_as(name, author.raw_author_name.as_deref()), author)
        })
    }

    /// The names of the authors.
    pub fn names(&self) -> impl Iterator<Item = Name<'_>> {
        self.authors().map(|(name, _)| name)
    }

    /// The DOI as URL.
    pub fn doi_url(&self) -> Option<&str> {
        self.doi.as_deref().filter(|doi| doi.starts_with(DOI_RESOLVER))
    }

    /// The DOI without the address of its resolver.
    pub fn doi(&self) -> Option<&str> {
        let doi = self.doi.as_deref()?;
        Some(doi.strip_prefix(DOI_RESOLVER).unwrap_or(doi))
    }

    /// The address of a page about the output: the DOI as URL, or else the landing page.
    pub fn address(&self) -> Option<&str> {
        let landing = || self.primary_venue.as_ref()?.landing_page_url.as_deref();
        self.doi_url().or_else(landing)
    }

    /// The address of a free copy, and whether the copy is known to be a PDF.
    pub fn free_copy(&self) -> Option<(&str, bool)> {
        let pdf = || self.primary_venue.as_ref()?.pdf_url.as_deref();
        let copy = || self.open_access.as_ref()?.oa_url.as_deref();
        pdf().map(|pdf| (pdf, true)).or_else(|| Some((copy()?, false)))
    }

    fn biblio(&self, of: impl Fn(&Biblio) -> &Option<String>) -> Option<&str> {
        of(self.biblio.as_ref()?).as_deref().filter(|text| !text.is_empty())
    }

    /// The volume of the journal.
    pub fn volume(&self) -> Option<&str> {
        self.biblio(|biblio| &biblio.volume)
    }

    /// The issue of the volume.
    pub fn issue(&self) -> Option<&str> {
        self.biblio(|biblio| &biblio.issue)
    }

    /// The page on which the output begins.
    pub fn first_page(&self) -> Option<&str> {
        self.biblio(|biblio| &biblio.first_page)
    }

    /// The page on which the output ends.
    pub fn last_page(&self) -> Option<&str> {
        self.biblio(|biblio| &biblio.last_page)
    }

    /// The first and last page with a dash between, or the only page.
    pub fn pages(&self, dash: &str) -> Option<String> {
        let pages = match (self.first_page(), self.last_page()) {
            (Some(first), Some(last)) if first != last => format!("{first}{dash}{last}"),
            (Some(page), _) | (None, Some(page)) => page.to_owned(),
            (None, None) => return None,
        };
        Some(one_line(&pages))
    }

    /// Code of the language.
    pub fn language(&self) -> Option<&str> {
        self.language.as_ref()?.code.as_deref()
    }

    /// Leaves out what a text that cites the output does not need: its abstract and keywords.
    pub fn leave_out_texts(&mut self) {
        self.r#abstract = None;
        self.keywords = None;
    }

    /// The abstract, without markup.
    pub fn r#abstract(&self) -> Option<String> {
        self.r#abstract.as_deref().map(|text| Rich::of(text).text())
    }

    /// The keywords that have a text.
    pub fn keywords(&self) -> impl Iterator<Item = &str> {
        self.keywords.iter().flatten().filter_map(Option::as_deref)
    }

    /// Year, month and day as far as they are known. A date of another year than `year` does not count.
    pub fn date(&self) -> Vec<i64> {
        let parts = self.date.as_deref().and_then(|date| date.get(..10));
        let parts: Option<Vec<i64>> =
            parts.map(|date| date.split('-').filter_map(|part| part.parse().ok()).collect());
        match (self.year, parts) {
            (year, Some(parts)) if year.is_none_or(|year| parts.first() == Some(&year)) => parts,
            (Some(year), _) => vec![year],
            _ => Vec::new(),
        }
    }
}
