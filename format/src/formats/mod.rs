//! Lists for other programs: references to outputs in the formats of reference managers, and tables.
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
//! [`kinds`] has the types of all formats in one table, and [`names`] finds the parts of names. [`table`] writes CSV and
//! workbooks, of the members of any record or of references.
//!
//! Imports `entity`, `query`, `record`, `storage`, `text`.

pub mod apa;
mod bibtex;
mod csl;
mod keys;
pub mod kinds;
pub mod names;
pub mod reference;
pub mod rich;
mod ris;
pub mod table;
pub mod workbook;
pub mod xml;

use std::sync::LazyLock;

use crate::entity::Entity;
use crate::formats::keys::Keys;
use crate::formats::reference::{MEMBERS, PAGE_MEMBERS, Reference, TABLE_MEMBERS};
use crate::query::parse_select;
use crate::record::{Members, View};
use crate::storage::ReadError;

/// A format of reference managers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceFormat {
    /// Entries of BibTeX.
    Bibtex,
    /// Records of RIS.
    Ris,
    /// Items of CSL-JSON.
    Csl,
}

impl ReferenceFormat {
    /// All formats.
    pub const ALL: [ReferenceFormat; 3] =
        [ReferenceFormat::Bibtex, ReferenceFormat::Ris, ReferenceFormat::Csl];

    /// The value of the parameter `format`.
    pub fn name(self) -> &'static str {
        match self {
            ReferenceFormat::Bibtex => "bibtex",
            ReferenceFormat::Ris => "ris",
            ReferenceFormat::Csl => "csl-json",
        }
    }

    /// The name for people.
    pub fn label(self) -> &'static str {
        match self {
            ReferenceFormat::Bibtex => "BibTeX",
            ReferenceFormat::Ris => "RIS",
            ReferenceFormat::Csl => "CSL-JSON",
        }
    }

    /// The extension of file names.
    pub fn extension(self) -> &'static str {
        match self {
            ReferenceFormat::Bibtex => "bib",
            ReferenceFormat::Ris => "ris",
            ReferenceFormat::Csl => "json",
        }
    }

    /// The value of `Content-Type`, which `Accept` may ask for.
    pub fn media_type(self) -> &'static str {
        match self {
            ReferenceFormat::Bibtex => "application/x-bibtex",
            ReferenceFormat::Ris => "application/x-research-info-systems",
            ReferenceFormat::Csl => "application/vnd.citationstyles.csl+json",
        }
    }
}

/// The members of outputs that references need.
pub static REFERENCE_MEMBERS: LazyLock<Members> = LazyLock::new(|| selected(MEMBERS));

/// The members of outputs that their pages need for references.
pub static PAGE_REFERENCE_MEMBERS: LazyLock<Members> =
    LazyLock::new(|| selected(&format!("{MEMBERS},{PAGE_MEMBERS}")));

/// The members of outputs that tables of references need.
pub static TABLE_REFERENCE_MEMBERS: LazyLock<Members> =
    LazyLock::new(|| selected(&format!("{MEMBERS},{TABLE_MEMBERS}")));

/// The database that references of a snapshot name.
pub fn database_of(snapshot_id: &str) -> String {
    format!("Pinakes snapshot {snapshot_id}")
}

fn selected(names: &str) -> Members {
    let view = View::Export;
    // A test reads them.
    parse_select(Entity::Output, view, names)
        .unwrap_or_else(|_| Members::all(Entity::Output, view).clone())
}

/// Writes the references of a list or of one record in a format.
#[derive(Debug)]
pub struct ReferenceWriter {
    format: ReferenceFormat,
    /// The keys of BibTeX; of other formats, none are kept.
    keys: Keys,
    /// The database that references name: the snapshot.
    database: String,
    is_in_list: bool,
    has_begun: bool,
}

impl ReferenceWriter {
    /// Most bytes that a writer holds between two references.
    pub const BYTES_MAX: usize = Keys::BYTES_MAX;

    /// Writes a list of so many references of a snapshot.
    pub fn of_list(format: ReferenceFormat, references: u64, snapshot_id: &str) -> ReferenceWriter {
        let has_keys = format == ReferenceFormat::Bibtex;
        let keys = Keys::new(if has_keys { references } else { 0 });
        let database = database_of(snapshot_id);
        ReferenceWriter { format, keys, database, is_in_list: true, has_begun: false }
    }

    /// A single reference in a format.
    pub fn of_record(
        format: ReferenceFormat,
        reference: &Reference,
        snapshot_id: &str,
    ) -> Result<Vec<u8>, ReadError> {
        let mut writer = ReferenceWriter {
            is_in_list: false,
            ..ReferenceWriter::of_list(format, 1, snapshot_id)
        };
        let mut out = Vec::new();
        writer.write(reference, &mut out)?;
        writer.finish(&mut out);
        Ok(out)
    }

    /// Writes what precedes the references.
    pub fn begin(&self, out: &mut Vec<u8>) {
        if self.is_in_list && self.format == ReferenceFormat::Csl {
            out.push(b'[');
        }
    }

    /// Writes a reference.
    pub fn write(&mut self, reference: &Reference, out: &mut Vec<u8>) -> Result<(), ReadError> {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        match self.format {
            ReferenceFormat::Bibtex => bibtex::write(reference, &self.keys.next(reference), out),
            ReferenceFormat::Ris => ris::write(reference, &self.database, out),
            ReferenceFormat::Csl => {
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
        if self.format == ReferenceFormat::Csl {
            out.extend_from_slice(if self.is_in_list { b"]\n" } else { b"\n" });
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn write(format: ReferenceFormat, records: &[Value]) -> String {
        let mut writer = ReferenceWriter::of_list(format, records.len() as u64, "0123");
        let mut out = Vec::new();
        writer.begin(&mut out);
        for record in records {
            let reference = Reference::read(record.to_string().as_bytes()).unwrap();
            writer.write(&reference, &mut out).unwrap();
        }
        writer.finish(&mut out);
        String::from_utf8(out).unwrap()
    }

    fn article() -> Value {
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
        assert_eq!(write(ReferenceFormat::Bibtex, &[article()]), expected);
    }

    #[test]
    fn braces_of_bibtex_are_balanced() {
        let check = |title: &str, expected: &str| {
            let json = serde_json::json!({ "title": title });
            let expected = format!("  title = {{{expected}}},\n");
            let text = write(ReferenceFormat::Bibtex, &[json]);
            assert!(text.ends_with(&(expected + "}\n\n")), "{text}");
        };
        check("{a}", "\\{a\\}");
        check("a } b {", "a \\textbraceright{} b \\textbraceleft{}");
        check("a {B c}", "a \\{B c\\}");
        check("Of pH and\tB\\C", "Of {pH} and {B\\textbackslash{}C}");
        check(
            "Spin in <sub>x</sub> RuO<sub>2</sub><sup>10+</sup> &amp; films",
            "Spin in $_x$ {RuO$_2$$^{10+}$} \\& films",
        );
        check("A <i>new E. coli</i> p<i>K</i>a", "A \\emph{new {E.} coli} {p\\emph{K}a}");
        check(
            "The energy of ${\\mathit{K}}_{24}$ there",
            "The energy of {${\\mathit{K}}_{24}$} there",
        );
        check("CLUSTAL W: improving it: Better", "{CLUSTAL} {W:} {improving} it: {Better}");
        check("x<sub>ä b</sub>", "x\\textsubscript{ä} $_b$");
        check("a--b ``c'' ~^", "a-{}-b `{}`c'{}' \\textasciitilde{}\\textasciicircum{}");
    }

    #[test]
    fn names_have_the_order_of_each_format() {
        let authors = serde_json::json!([{ "name": "Ada van Berg Jr." }, { "name": " " }]);
        let records = [serde_json::json!({ "authors": authors })];
        let bibtex = write(ReferenceFormat::Bibtex, &records);
        assert!(bibtex.contains("author = {van Berg, Jr., Ada}"), "{bibtex}");
        let ris = write(ReferenceFormat::Ris, &records);
        assert!(
            ris.contains("AU  - van Berg, Ada, Jr.\r\nDB  - Pinakes snapshot 0123\r\nER"),
            "{ris}"
        );
    }

    #[test]
    fn ris_has_a_tag_on_each_line() {
        let expected = "TY  - JOUR\r\nID  - HX_W7\r\nAU  - van Berg, Ada\r\nAU  - 学, 李\r\n\
            AU  - Ministry of Food and Health\r\nTI  - On DNA & 100% of {it}\r\nT2  - Annals of_Things\r\n\
            PY  - 2020\r\nDA  - 2020/03/09\r\nVL  - 3\r\nIS  - 4\r\nSP  - 12\r\nEP  - 19\r\nDO  - 10.1000/a_b\r\n\
            UR  - https://doi.org/10.1000/a_b\r\nLA  - en\r\n\
            DB  - Pinakes snapshot 0123\r\nER  - \r\n\r\n";
        assert_eq!(write(ReferenceFormat::Ris, &[article()]), expected);
    }

    #[test]
    fn what_is_not_linked_is_as_printed_and_a_retraction_is_said() {
        let record = serde_json::json!({
            "title": "A <i>thing</i>", "type": "book-chapter", "is_retracted": true,
            "authors": [
                { "name": null, "raw_author_name": "Nobody Known" },
                { "name": "Corporación Universitaria Remington, Manizales, Colombia" },
                { "name": "Ana Garcia Lopez", "raw_author_name": "Garcia Lopez, A." },
            ],
            "primary_venue": { "source": null, "raw_source_name": "The World Summit &amp; more" },
            "abstract": "<jats:p>On &lt;i&gt;it&lt;/i&gt;.</jats:p>",
        });
        let records = [record];
        let bibtex = write(ReferenceFormat::Bibtex, &records);
        for part in [
            "author = {Known, Nobody and {Corporación Universitaria Remington, Manizales, Colombia} and Garcia Lopez, Ana}",
            "title = {A \\emph{thing}}",
            "booktitle = {The World Summit \\& more}",
            "abstract = {On it.}",
            "note = {Retracted}",
        ] {
            assert!(bibtex.contains(part), "{bibtex}");
        }
        let ris = write(ReferenceFormat::Ris, &records);
        for part in [
            "AU  - Known, Nobody\r\nAU  - Corporación Universitaria Remington - Manizales - Colombia\r\nAU  - Garcia Lopez, Ana\r\n",
            "TI  - A thing\r\nT2  - The World Summit & more\r\n",
            "AB  - On it.\r\nN1  - Retracted\r\nDB  - Pinakes snapshot 0123\r\n",
        ] {
            assert!(ris.contains(part), "{ris}");
        }
        let items: Value = serde_json::from_str(&write(ReferenceFormat::Csl, &records)).unwrap();
        assert_eq!(items[0]["title"], "A <i>thing</i>");
        assert_eq!(items[0]["status"], "retracted");
        assert_eq!(
            items[0]["author"][0],
            serde_json::json!({"family": "Known", "given": "Nobody"})
        );
    }

    #[test]
    fn a_record_has_all_members_that_references_read() {
        for names in [MEMBERS, PAGE_MEMBERS] {
            assert!(parse_select(Entity::Output, View::Export, names).is_ok(), "{names}");
        }
    }

    #[test]
    fn csl_items_are_a_list() {
        let text = write(ReferenceFormat::Csl, &[article(), serde_json::json!({"id": "HX_W8"})]);
        let items: Value = serde_json::from_str(&text).unwrap();
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
