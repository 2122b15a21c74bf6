//! References to outputs in the formats of reference managers: BibTeX, RIS and CSL-JSON.
//!
//! A [`Reference`] is read from the JSON of an output, of a list or of a single record. Each format is a file:
//!
//! ```text
//! {"authors":[{"name":"Ada van Berg"}],"year":2020,"title":"On DNA",…}
//!
//! bibtex   @article{berg2020on, author = {van Berg, Ada}, title = {On {DNA}}, …
//! ris      TY  - JOUR / AU  - van Berg, Ada / TI  - On DNA / PY  - 2020
//! csl      {"type":"article-journal","author":[{"family":"Berg","given":"Ada",…}],"title":"On DNA",…}
//! apa      van Berg, A. (2020). On DNA.
//! ```
//!
//! [`kinds`] has the types of all formats in one table, and [`names`] finds the parts of names.
//!
//! Imports no other folder.

pub(crate) mod apa;
mod bibtex;
mod csl;
mod keys;
pub(crate) mod kinds;
pub(crate) mod names;
mod ris;

use pinakes_format::storage::error::ReadError;
use serde::Deserialize;

use crate::citation::keys::Keys;
use crate::citation::kinds::Kind;
use crate::citation::names::Name;

/// The members of an output that lists of references need, as `select` has them.
pub const MEMBERS: &str = "id,doi,title,name,year,date,language,type,authors.name,biblio,keywords,\
    primary_venue.landing_page_url,primary_venue.source.name,primary_venue.source.type";
/// Address of DOIs.
const DOI_RESOLVER: &str = "https://doi.org/";

/// A format of reference managers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CitationFormat {
    /// Entries of BibTeX.
    Bibtex,
    /// Records of RIS.
    Ris,
    /// Items of CSL-JSON.
    Csl,
}

impl CitationFormat {
    /// All formats.
    pub const ALL: [CitationFormat; 3] =
        [CitationFormat::Bibtex, CitationFormat::Ris, CitationFormat::Csl];

    /// The value of the parameter `format`.
    pub fn name(self) -> &'static str {
        match self {
            CitationFormat::Bibtex => "bibtex",
            CitationFormat::Ris => "ris",
            CitationFormat::Csl => "csl-json",
        }
    }

    /// The name for people.
    pub fn label(self) -> &'static str {
        match self {
            CitationFormat::Bibtex => "BibTeX",
            CitationFormat::Ris => "RIS",
            CitationFormat::Csl => "CSL-JSON",
        }
    }

    /// The extension of file names.
    pub fn extension(self) -> &'static str {
        match self {
            CitationFormat::Bibtex => "bib",
            CitationFormat::Ris => "ris",
            CitationFormat::Csl => "json",
        }
    }

    /// The value of `Content-Type`, which `Accept` may ask for.
    pub fn media_type(self) -> &'static str {
        match self {
            CitationFormat::Bibtex => "application/x-bibtex",
            CitationFormat::Ris => "application/x-research-info-systems",
            CitationFormat::Csl => "application/vnd.citationstyles.csl+json",
        }
    }
}

/// An output as its JSON shows it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Reference {
    id: Option<String>,
    doi: Option<String>,
    title: Option<String>,
    name: Option<String>,
    year: Option<i64>,
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
    /// ORCID iD as URL; only of single records.
    pub orcid: Option<String>,
}

impl Author {
    /// The name as the record has it, not split.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Venue {
    source: Option<Source>,
    landing_page_url: Option<String>,
    pdf_url: Option<String>,
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

    fn source(&self) -> Option<&Source> {
        self.primary_venue.as_ref()?.source.as_ref()
    }

    /// The title, or else the name.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref().or(self.name.as_deref())
    }

    /// The name of the journal, the proceedings or the book.
    pub fn container(&self) -> Option<&str> {
        self.source()?.name.as_deref()
    }

    /// The authors with a name, in their order.
    pub fn authors(&self) -> impl Iterator<Item = (Name<'_>, &Author)> {
        let authors = self.authors.iter().flatten();
        let named = authors.filter_map(|author| Some((author.name.as_deref()?, author)));
        let named = named.filter(|(name, _)| !name.trim().is_empty());
        named.map(|(name, author)| (Name::of(name), author))
    }

    fn names(&self) -> impl Iterator<Item = Name<'_>> {
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

    pub fn volume(&self) -> Option<&str> {
        self.biblio(|biblio| &biblio.volume)
    }

    pub fn issue(&self) -> Option<&str> {
        self.biblio(|biblio| &biblio.issue)
    }

    pub fn first_page(&self) -> Option<&str> {
        self.biblio(|biblio| &biblio.first_page)
    }

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

    pub fn r#abstract(&self) -> Option<&str> {
        self.r#abstract.as_deref()
    }

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

/// A text in one line: white space and control characters are one space each time.
pub fn one_line(text: &str) -> String {
    let words = text.split(|letter: char| letter.is_whitespace() || letter.is_control());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Writes the references of a list or of one record in a format.
#[derive(Debug)]
pub struct CitationWriter {
    format: CitationFormat,
    /// The keys of BibTeX; of other formats, none are kept.
    keys: Keys,
    is_in_list: bool,
    has_begun: bool,
}

impl CitationWriter {
    /// Most bytes that a writer holds between two references.
    pub const BYTES_MAX: usize = Keys::BYTES_MAX;

    /// Writes a list of so many references.
    pub fn of_list(format: CitationFormat, references: u64) -> CitationWriter {
        let has_keys = format == CitationFormat::Bibtex;
        let keys = Keys::new(if has_keys { references } else { 0 });
        CitationWriter { format, keys, is_in_list: true, has_begun: false }
    }

    /// A single reference in a format.
    pub fn of_record(format: CitationFormat, reference: &Reference) -> Result<Vec<u8>, ReadError> {
        let mut writer = CitationWriter { is_in_list: false, ..CitationWriter::of_list(format, 1) };
        let mut out = Vec::new();
        writer.write(reference, &mut out)?;
        writer.finish(&mut out);
        Ok(out)
    }

    /// Writes what precedes the references.
    pub fn begin(&self, out: &mut Vec<u8>) {
        if self.is_in_list && self.format == CitationFormat::Csl {
            out.push(b'[');
        }
    }

    /// Writes a reference.
    pub fn write(&mut self, reference: &Reference, out: &mut Vec<u8>) -> Result<(), ReadError> {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        match self.format {
            CitationFormat::Bibtex => bibtex::write(reference, &self.keys.next(reference), out),
            CitationFormat::Ris => ris::write(reference, out),
            CitationFormat::Csl => {
                if !is_first {
                    out.extend_from_slice(b",\n");
                }
                csl::write(reference, out)?;
            }
        }
        Ok(())
    }

    /// Writes what follows the references.
    pub fn finish(&self, out: &mut Vec<u8>) {
        if self.format == CitationFormat::Csl {
            out.extend_from_slice(if self.is_in_list { b"]\n" } else { b"\n" });
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn write(format: CitationFormat, records: &[serde_json::Value]) -> String {
        let mut writer = CitationWriter::of_list(format, records.len() as u64);
        let mut out = Vec::new();
        writer.begin(&mut out);
        for record in records {
            let reference = Reference::read(record.to_string().as_bytes()).unwrap();
            writer.write(&reference, &mut out).unwrap();
        }
        writer.finish(&mut out);
        String::from_utf8(out).unwrap()
    }

    fn article() -> serde_json::Value {
        serde_json::json!({
            "id": "HX_W7", "doi": "https://doi.org/10.1000/a_b", "title": "On DNA & 100% of {it}\n",
            "year": 2020, "date": "2020-03-09", "type": "article", "language": {"code": "en"},
            "authors": [{"name": "Ada van Berg"}, {"name": "李 学"}, {"name": "Ministry of Food and Health"}],
            "primary_venue": {"source": {"name": "Annals of_Things", "type": "journal"}},
            "biblio": {"volume": "3", "issue": "4", "first_page": "12", "last_page": "19"},
        })
    }

    #[test]
    fn bibtex_has_a_key_and_protects_capitals_and_signs() {
        let expected = "@article{berg2020on,\n  author = {van Berg, Ada and 学, 李 and {Ministry of Food and Health}},\n  \
            title = {On {DNA} \\& 100\\% of \\{it\\}},\n  journal = {Annals of\\_Things},\n  year = {2020},\n  \
            month = mar,\n  volume = {3},\n  number = {4},\n  pages = {12--19},\n  doi = {10.1000/a_b},\n  \
            url = {https://doi.org/10.1000/a_b},\n  language = {en},\n}\n\n";
        assert_eq!(write(CitationFormat::Bibtex, &[article()]), expected);
    }

    #[test]
    fn braces_of_bibtex_are_balanced() {
        let check = |title: &str, expected: &str| {
            let json = serde_json::json!({ "title": title });
            let expected = format!("  title = {{{expected}}},\n");
            let text = write(CitationFormat::Bibtex, &[json]);
            assert!(text.ends_with(&(expected + "}\n\n")), "{text}");
        };
        check("{a}", "\\{a\\}");
        check("a } b {", "a \\textbraceright{} b \\textbraceleft{}");
        check("a {B c}", "a \\{B c\\}");
        check("Of pH and\tB\\C", "Of {pH} and {B\\textbackslash{}C}");
        check("a--b ``c'' ~^", "a-{}-b `{}`c'{}' \\textasciitilde{}\\textasciicircum{}");
    }

    #[test]
    fn names_have_the_order_of_each_format() {
        let authors = serde_json::json!([{ "name": "Ada van Berg Jr." }, { "name": " " }]);
        let records = [serde_json::json!({ "authors": authors })];
        let bibtex = write(CitationFormat::Bibtex, &records);
        assert!(bibtex.contains("author = {van Berg, Jr., Ada}"), "{bibtex}");
        let ris = write(CitationFormat::Ris, &records);
        assert!(ris.contains("AU  - van Berg, Ada, Jr.\r\nER"), "{ris}");
    }

    #[test]
    fn ris_has_a_tag_on_each_line() {
        let expected = "TY  - JOUR\r\nID  - HX_W7\r\nAU  - van Berg, Ada\r\nAU  - 学, 李\r\n\
            AU  - Ministry of Food and Health\r\nTI  - On DNA & 100% of {it}\r\nT2  - Annals of_Things\r\n\
            PY  - 2020\r\nDA  - 2020/03/09\r\nVL  - 3\r\nIS  - 4\r\nSP  - 12\r\nEP  - 19\r\nDO  - 10.1000/a_b\r\n\
            UR  - https://doi.org/10.1000/a_b\r\nLA  - en\r\nER  - \r\n\r\n";
        assert_eq!(write(CitationFormat::Ris, &[article()]), expected);
    }

    #[test]
    fn csl_items_are_a_list() {
        let text = write(CitationFormat::Csl, &[article(), serde_json::json!({"id": "HX_W8"})]);
        let items: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            items,
            serde_json::json!([
                {
                    "id": "HX_W7", "type": "article-journal", "title": "On DNA & 100% of {it}",
                    "author": [
                        {"family": "Berg", "given": "Ada", "non-dropping-particle": "van"},
                        {"family": "学", "given": "李"},
                        {"literal": "Ministry of Food and Health"},
                    ],
                    "issued": {"date-parts": [[2020, 3, 9]]}, "container-title": "Annals of_Things",
                    "volume": "3", "issue": "4", "page": "12-19", "DOI": "10.1000/a_b",
                    "URL": "https://doi.org/10.1000/a_b", "language": "en",
                },
                {"id": "HX_W8", "type": "document"},
            ])
        );
    }
}
