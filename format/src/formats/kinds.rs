//! The types of outputs in each vocabulary, after the mapping tables of Zotero and CSL.

/// The type of an output in each vocabulary, and the member for the journal, book or publisher that it stands in.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// Entry and member of BibTeX.
    pub bibtex: (&'static str, &'static str),
    /// Type and tag of RIS.
    pub ris: (&'static str, &'static str),
    /// Type and member of CSL-JSON.
    pub csl: (&'static str, &'static str),
    /// Class of schema.org.
    pub schema_org: &'static str,
    /// Meta tag of the container.
    pub tag: &'static str,
}

/// An article in a journal.
pub static ARTICLE: Kind = Kind {
    bibtex: ("article", "journal"),
    ris: ("JOUR", "T2"),
    csl: ("article-journal", "container-title"),
    schema_org: "ScholarlyArticle",
    tag: "citation_journal_title",
};

static CONFERENCE_PAPER: Kind = Kind {
    bibtex: ("inproceedings", "booktitle"),
    ris: ("CONF", "T2"),
    csl: ("paper-conference", "container-title"),
    schema_org: "ScholarlyArticle",
    tag: "citation_conference_title",
};

/// A chapter of a book.
pub static CHAPTER: Kind = Kind {
    bibtex: ("incollection", "booktitle"),
    ris: ("CHAP", "T2"),
    csl: ("chapter", "container-title"),
    schema_org: "Chapter",
    tag: "citation_inbook_title",
};

static ENTRY: Kind = Kind {
    ris: ("ENCYC", "T2"),
    csl: ("entry-encyclopedia", "container-title"),
    schema_org: "Article",
    ..CHAPTER
};

static BOOK: Kind = Kind {
    bibtex: ("book", "series"),
    ris: ("BOOK", "T2"),
    csl: ("book", "collection-title"),
    schema_org: "Book",
    tag: "citation_series_title",
};

static THESIS: Kind = Kind {
    bibtex: ("phdthesis", "school"),
    ris: ("THES", "PB"),
    csl: ("thesis", "publisher"),
    schema_org: "Thesis",
    tag: "citation_dissertation_institution",
};

static REPORT: Kind = Kind {
    bibtex: ("techreport", "institution"),
    ris: ("RPRT", "PB"),
    csl: ("report", "publisher"),
    schema_org: "Report",
    tag: "citation_technical_report_institution",
};

/// Anything else: BibTeX calls it `misc`.
static OTHER: Kind = Kind {
    bibtex: ("misc", "publisher"),
    ris: ("GEN", "PB"),
    csl: ("document", "publisher"),
    schema_org: "CreativeWork",
    tag: "citation_publisher",
};

static PREPRINT: Kind = Kind {
    ris: ("UNPB", "PB"),
    csl: ("article", "publisher"),
    schema_org: "ScholarlyArticle",
    ..OTHER
};

static STANDARD: Kind = Kind { ris: ("STAND", "PB"), csl: ("standard", "publisher"), ..OTHER };

static DATASET: Kind =
    Kind { ris: ("DATA", "PB"), csl: ("dataset", "publisher"), schema_org: "Dataset", ..OTHER };

static SOFTWARE: Kind = Kind {
    ris: ("COMP", "PB"),
    csl: ("software", "publisher"),
    schema_org: "SoftwareSourceCode",
    ..OTHER
};

/// Finds the kind of an output of a type, in a source of a type.
pub fn find(output: &str, source: &str) -> &'static Kind {
    match (output, source) {
        ("conference-paper" | "conference-abstract" | "proceedings-article", _) => {
            &CONFERENCE_PAPER
        }
        ("article" | "journal-article" | "review", "conference") => &CONFERENCE_PAPER,
        ("article" | "journal-article" | "review" | "letter" | "editorial", _) => &ARTICLE,
        ("erratum" | "retraction", _) => &ARTICLE,
        ("book" | "monograph" | "edited-book" | "reference-book", _) => &BOOK,
        ("book-chapter" | "book-section" | "book-part", _) => &CHAPTER,
        ("reference-entry", _) => &ENTRY,
        ("dissertation", _) => &THESIS,
        ("preprint" | "posted-content", _) => &PREPRINT,
        ("report", _) => &REPORT,
        ("standard", _) => &STANDARD,
        ("dataset" | "database", _) => &DATASET,
        ("software", _) => &SOFTWARE,
        // For example the table of contents of an issue.
        (_, "journal") => &ARTICLE,
        _ => &OTHER,
    }
}
