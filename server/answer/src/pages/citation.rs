//! Parts of an output's page for reference managers: a formatted reference with files, meta tags, JSON-LD, and links
//! of Signposting.
//!
//! ```text
//! <meta name="citation_title" content="On DNA">                     Highwire tags, which most managers read
//! <script type="application/ld+json">{"@type":"ScholarlyArticle"…   schema.org; a block of data, which no browser runs
//! Link: </outputs/HX_W7?format=ris>; rel="describedby"; type=…      Signposting
//! ```

use http::{HeaderName, HeaderValue, header};
use percent_encoding::utf8_percent_encode;
use pinakes_format::formats::apa;
use pinakes_format::formats::names::{Name, one_line};
use pinakes_format::formats::reference::Reference;
use pinakes_format::formats::{ReferenceFormat, kinds};
use serde_json::{Value, json};

use crate::pages::html::styled;
use crate::pages::labels::thousands;
use crate::reply::JSON;
use crate::request::path::OUTSIDE_URI;

/// Authors that the tags of a page name; the files name all.
const TAGGED_AUTHORS_MAX: usize = 100;
/// Authors that the header links to. Proxies often refuse headers of more than 4 KiB.
const LINKED_AUTHORS_MAX: usize = 10;
/// Bytes of an address that the header links to.
const LINKED_BYTES_MAX: usize = 1_000;

/// The parts of a page for reference managers.
pub struct Citation {
    /// HTML of the formatted reference.
    pub formatted: String,
    /// Names of formats, and the addresses of files.
    pub files: Vec<(&'static str, String)>,
    /// Names and values of meta tags.
    pub tags: Vec<(&'static str, String)>,
    /// JSON-LD without the characters that end a script.
    pub json_ld: String,
}

impl Citation {
    /// Makes the parts from an output and the path of its JSON.
    pub fn new(reference: &Reference, path: &str) -> Citation {
        let file = |format: ReferenceFormat| (format.label(), file_path(path, format));
        Citation {
            formatted: styled(&apa::formatted(reference), &[]),
            files: ReferenceFormat::ALL.map(file).to_vec(),
            tags: tags(reference),
            json_ld: in_script(&json_ld(reference)),
        }
    }
}

/// Links below a row of a list: what cites the output, a free copy, and the reference.
#[derive(Debug)]
pub struct RowLinks {
    /// The number of citations, and the list of what cites the output here, if anything does.
    pub cited_by: Option<(String, Option<String>)>,
    /// The label and the address of a free copy.
    pub copy: Option<(&'static str, String)>,
    /// HTML of the formatted reference.
    pub formatted: String,
    /// Names of formats, and the addresses of files.
    pub files: Vec<(&'static str, String)>,
}

impl RowLinks {
    /// Makes the links of an output with an id.
    pub fn new(reference: &Reference, id: &str, is_cited: bool) -> RowLinks {
        let cited = reference.cited_by_count.filter(|count| *count > 0);
        let cited_by = cited.map(|count| {
            let list = is_cited.then(|| format!("/browse/outputs?filter=references:{id}"));
            (thousands(count.unsigned_abs()), list)
        });
        let copy = reference.free_copy().filter(|(address, _)| is_web(address));
        let copy = copy.map(|(address, is_pdf)| {
            (if is_pdf { "PDF" } else { "Free copy" }, address.to_owned())
        });
        let path = format!("/outputs/{id}");
        let file = |format: ReferenceFormat| (format.label(), file_path(&path, format));
        RowLinks {
            cited_by,
            copy,
            formatted: styled(&apa::formatted(reference), &[]),
            files: ReferenceFormat::ALL.map(file).to_vec(),
        }
    }
}

fn file_path(path: &str, format: ReferenceFormat) -> String {
    format!("{path}?format={}", format.name())
}

/// The tags of Highwire Press.
fn tags(reference: &Reference) -> Vec<(&'static str, String)> {
    let mut tags = Vec::new();
    let mut add = |name, value: Option<&str>| {
        if let Some(value) = value.map(one_line).filter(|value| !value.is_empty()) {
            tags.push((name, value));
        }
    };
    add("citation_title", reference.title().map(|title| title.text()).as_deref());
    for (name, author) in reference.authors().take(TAGGED_AUTHORS_MAX) {
        add("citation_author", Some(&inverted(&name)));
        add("citation_author_orcid", author.orcid.as_deref());
    }
    add("citation_publication_date", date(reference, "/").as_deref());
    add(reference.kind().tag, reference.container().as_deref());
    add("citation_volume", reference.volume());
    add("citation_issue", reference.issue());
    add("citation_firstpage", reference.first_page());
    add("citation_lastpage", reference.last_page());
    add("citation_doi", reference.doi());
    add("citation_language", reference.language());
    reference.keywords().for_each(|word| add("citation_keywords", Some(word)));
    let pdf = reference.free_copy().filter(|(address, is_pdf)| *is_pdf && is_web(address));
    add("citation_pdf_url", pdf.map(|(address, _)| address));
    tags
}

fn inverted(name: &Name<'_>) -> String {
    match name {
        Name::Person { given, .. } => format!("{}, {given}", name.family()),
        Name::Whole(name) => (*name).to_owned(),
    }
}

/// The date as far as it is known: year, month and day, or the year.
fn date(reference: &Reference, separator: &str) -> Option<String> {
    match reference.date().as_slice() {
        [year, month, day] => Some(format!("{year:04}{separator}{month:02}{separator}{day:02}")),
        [year, ..] => Some(format!("{year:04}")),
        [] => None,
    }
}

/// The output in the vocabulary of schema.org.
fn json_ld(reference: &Reference) -> Value {
    let kind = reference.kind();
    let mut work = json!({ "@context": "https://schema.org", "@type": (kind.schema_org) });
    let mut add = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            work[name] = value;
        }
    };
    let text = |value: Option<&str>| value.map(|value| Value::from(one_line(value)));
    add("@id", text(reference.doi_url()));
    add("name", reference.title().map(|title| title.text().into()));
    let authors: Vec<Value> = reference
        .authors()
        .take(TAGGED_AUTHORS_MAX)
        .map(|(name, author)| {
            let mut person = match name {
                Name::Person { given, .. } => json!({
                    "@type": "Person", "name": (one_line(author.name().unwrap_or_default())),
                    "familyName": (name.family()), "givenName": given,
                }),
                Name::Whole(name) => json!({ "@type": "Person", "name": name }),
            };
            if let Some(orcid) = &author.orcid {
                person["@id"] = orcid.as_str().into();
            }
            person
        })
        .collect();
    add("author", (!authors.is_empty()).then(|| authors.into()));
    add("datePublished", date(reference, "-").map(Value::from));
    // A book has a publisher where an article has a journal.
    match reference.container() {
        Some(name) if kind.csl.1 == "publisher" => {
            add("publisher", Some(json!({ "@type": "Organization", "name": (one_line(&name)) })));
        }
        container => add("isPartOf", part_of(reference, container.as_deref())),
    }
    add("pageStart", text(reference.first_page()));
    add("pageEnd", text(reference.last_page()));
    let doi = reference.doi().map(one_line);
    let doi = doi.map(|doi| json!({ "@type": "PropertyValue", "propertyID": "DOI", "value": doi }));
    add("identifier", doi);
    // The address is data, and may begin with `javascript:`.
    add("url", text(reference.address().filter(|address| is_web(address))));
    add("inLanguage", text(reference.language()));
    add("abstract", text(reference.r#abstract().as_deref()));
    let keywords: Vec<String> = reference.keywords().map(one_line).collect();
    add("keywords", (!keywords.is_empty()).then(|| keywords.into()));
    work
}

/// The issue, volume and journal that an article stands in; of other outputs, the book or the series.
fn part_of(reference: &Reference, container: Option<&str>) -> Option<Value> {
    let is_article = *reference.kind() == kinds::ARTICLE;
    let class = if is_article { "Periodical" } else { "CreativeWork" };
    let mut part = container.map(|name| json!({ "@type": class, "name": (one_line(name)) }));
    for (class, member, number) in [
        ("PublicationVolume", "volumeNumber", reference.volume()),
        ("PublicationIssue", "issueNumber", reference.issue()),
    ] {
        let Some(number) = number else { continue };
        let mut inner = json!({ "@type": class, member: (one_line(number)) });
        if let Some(part) = part {
            inner["isPartOf"] = part;
        }
        part = Some(inner);
    }
    part
}

/// JSON whose text ends no script and begins no comment.
fn in_script(value: &Value) -> String {
    let text = value.to_string();
    text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// The header `Link` of a page: the DOI, authors, the free copy, and the record in each format.
pub fn link_header(reference: &Reference, path: &str) -> Option<(HeaderName, HeaderValue)> {
    let mut links: Vec<String> = Vec::new();
    let mut add = |address: &str, rest: &str| {
        let address = utf8_percent_encode(address, OUTSIDE_URI).to_string();
        if address.len() <= LINKED_BYTES_MAX {
            links.push(format!("<{address}>; {rest}"));
        }
    };
    if let Some(doi) = reference.doi_url() {
        add(doi, "rel=\"cite-as\"");
    }
    add(&format!("https://schema.org/{}", reference.kind().schema_org), "rel=\"type\"");
    let orcids = reference.authors().filter_map(|(_, author)| author.orcid.as_deref());
    for orcid in orcids.filter(|orcid| is_web(orcid)).take(LINKED_AUTHORS_MAX) {
        add(orcid, "rel=\"author\"");
    }
    if let Some((copy, is_pdf)) = reference.free_copy().filter(|(copy, _)| is_web(copy)) {
        add(copy, if is_pdf { "rel=\"item\"; type=\"application/pdf\"" } else { "rel=\"item\"" });
    }
    add(path, &format!("rel=\"describedby\"; type=\"{JSON}\""));
    for format in ReferenceFormat::ALL {
        let rest = format!("rel=\"describedby\"; type=\"{}\"", format.media_type());
        add(&file_path(path, format), &rest);
    }
    // Always valid: encoded addresses in ASCII.
    HeaderValue::try_from(links.join(", ")).ok().map(|links| (header::LINK, links))
}

/// Whether a browser would open an address as a page or file.
fn is_web(address: &str) -> bool {
    address.starts_with("https://") || address.starts_with("http://")
}
