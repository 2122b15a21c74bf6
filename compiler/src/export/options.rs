//! The options of `export`.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use pinakes_format::entity::Entity;
use pinakes_format::formats::ReferenceFormat;
use pinakes_format::formats::table::{Columns, TableOptions};
use pinakes_format::query::SAMPLE_RECORDS_MAX;

use crate::remote::from::FromArgs;

/// The options of `export`.
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// A snapshot, or a directory of snapshots, whose current one is meant.
    #[arg(value_name = "SNAPSHOTS")]
    pub snapshot: PathBuf,

    /// Entities to export, as `outputs authors`. [default: all]
    #[arg(value_name = "ENTITY", value_parser = parse_entity)]
    pub(super) entities: Vec<Entity>,

    /// Where to write. Several entities need a new or empty directory, which gets one file for each. One
    /// ENTITY goes to a file, which is replaced when the new one is complete; to a directory that exists or
    /// whose name ends in `/`; or to standard output, given as `-`.
    #[arg(long, value_name = "FILE|DIR|-", env = "PINAKES_EXPORT")]
    pub(super) out: PathBuf,

    /// Format of the files. [default: by the end of the file's name; ndjson without one]
    #[arg(long, value_enum)]
    pub(super) format: Option<Format>,

    /// Columns of CSV and of workbooks: `members` of records, or of outputs `references`, the columns that programs for
    /// reviews read: title, authors, year, journal, abstract, keywords, DOI.
    #[arg(long, value_name = "COLUMNS", default_value = Columns::Members.name(), value_parser = parse_columns)]
    pub(super) columns: Columns,

    /// Begin CSV with a byte order mark, by which Excel reads UTF-8.
    #[arg(long)]
    pub(super) bom: bool,

    /// Cut cells to so many characters, of UTF-16; spreadsheets hold 32,767.
    #[arg(long, value_name = "N")]
    pub(super) max_cell: Option<NonZeroU32>,

    /// Export only the records of ENTITY that match, as `outputs:year:>2020,is_oa:true`. ENTITY may be left
    /// out if only one is exported. FILTER has the syntax of the list's `filter`. Several must all hold.
    #[arg(long = "where", value_name = "[ENTITY:]FILTER")]
    pub(super) wheres: Vec<String>,

    /// Export only the outputs that a full-text search finds, the best first: the list's `search`.
    #[arg(long, value_name = "SEARCH", conflicts_with = "search_exact")]
    pub(super) search: Option<String>,

    /// As `--search`, with words compared as they are written: the list's `search.exact`.
    #[arg(long, value_name = "SEARCH")]
    pub(super) search_exact: Option<String>,

    /// Order of the records, in the syntax of the list's `sort`: `year:desc,name`. Needs one ENTITY.
    #[arg(long, value_name = "KEYS")]
    pub(super) sort: Option<String>,

    /// Only these members, in the order of the interface: `id,doi,authors.name`. Needs one ENTITY.
    #[arg(long, value_name = "MEMBERS")]
    pub(super) select: Option<String>,

    /// At most this many records of each entity: the first ones.
    #[arg(long, value_name = "N")]
    pub(super) limit: Option<u64>,

    /// This many random records of each entity, in the order of `--sort` or of the draws. The same snapshot
    /// and seed give the same records.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(SAMPLE_RECORDS_MAX)))]
    pub(super) sample: Option<u32>,

    /// Another number draws other records.
    #[arg(long, value_name = "S", default_value_t = 0, requires = "sample")]
    pub(super) seed: u64,

    /// One version of each work: of the chosen outputs with the same title and first author, such as a preprint and its article, the
    /// most cited output. At most 50,000 outputs are compared. Needs the ENTITY `outputs`.
    #[arg(long)]
    pub(super) one_of_versions: bool,

    /// With `--format parquet`: also write the edges of outputs as tables, `outputs_authors`,
    /// `outputs_topics`, `outputs_funders`, `outputs_venues` and `citations`.
    #[arg(long)]
    pub(super) edges: bool,

    /// With `--format parquet`: beside each identifier also its number, `id_number` beside `id`, which joins
    /// several times as fast as the text. The ids in lists of ids have none.
    #[arg(long)]
    pub(super) integer_ids: bool,

    /// Compression of all formats but Parquet and workbooks. [default: zst in a directory; for a file, by the end of its name]
    #[arg(long, value_enum, env = "PINAKES_COMPRESS")]
    pub(super) compress: Option<Compression>,

    /// Where the chunks come from that are not here.
    #[command(flatten)]
    pub from: FromArgs,

    /// Number of threads; 0 means one per processor.
    #[arg(long, default_value_t = 0, env = "PINAKES_THREADS")]
    pub threads: usize,

    /// Print only errors, warnings and the result.
    #[arg(long)]
    pub(super) quiet: bool,
}

impl ExportArgs {
    /// The format that is asked for, or that the name of the one file tells.
    ///
    /// # Errors
    ///
    /// Why the name tells none, or another one than is asked for.
    pub(super) fn format(&self, is_file: bool) -> Result<Format, String> {
        let name = self.out.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let plain = [".zst", ".gz"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
        let end = Path::new(plain).extension().map(|end| end.to_string_lossy().into_owned());
        let end = end.unwrap_or_default();
        let told: Vec<Format> = Format::with_extension(&end).collect();
        if !is_file {
            return match told.as_slice() {
                [] => Ok(self.format.unwrap_or(Format::Ndjson)),
                _ => Err(format!(
                    "the name `{name}` is that of a file, and several entities make a directory; name one entity, or a \
                     directory and `--format`"
                )),
            };
        }
        let format = match (self.format, told.as_slice()) {
            (None, [format]) => Ok(*format),
            // `/dev/null`, and files that programs open whatever their names are.
            (None, []) if end.is_empty() => Ok(Format::Ndjson),
            (None, _) => {
                Err(format!("the name `{name}` does not tell the format; give `--format` too"))
            }
            (Some(format), []) => Ok(format),
            (Some(format), told) if told.contains(&format) => Ok(format),
            (Some(format), [told, ..]) => Err(format!(
                "the name `{name}` is of another format than `--format {}`; end it with `.{}`, or write `--format {}`",
                shown(format),
                format.extension(),
                shown(*told)
            )),
        }?;
        if format.is_compressed() && plain != name {
            let reason = "is compressed by itself; leave the last end out";
            return Err(format!(
                "the name `{name}` is of a compressed file, and `{}` {reason}",
                shown(format)
            ));
        }
        Ok(format)
    }

    /// How tables are written.
    pub(super) fn table(&self, format: Format) -> Option<TableOptions> {
        format.is_table().then_some(TableOptions {
            is_workbook: format == Format::Xlsx,
            has_bom: self.bom,
            cell_max: self.max_cell,
        })
    }
}

fn shown(format: Format) -> String {
    format.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// Format of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One JSON object a line. Without `--select`, `build` makes an equivalent snapshot of the files.
    Ndjson,
    /// A header and one row a record; the items of a list are joined by `; `.
    Csv,
    /// Apache Parquet, with nested columns.
    Parquet,
    /// A workbook with the rows of CSV, for up to 1,048,575 records.
    Xlsx,
    /// Entries of BibTeX, of outputs.
    Bibtex,
    /// Records of RIS, of outputs.
    Ris,
    /// Items of CSL-JSON, of outputs.
    CslJson,
}

/// Other ends of the names of files with JSON lines.
const LINE_EXTENSIONS: [&str; 2] = ["ndjson", "json"];

impl Format {
    /// Returns the ending of a file's name, without compression.
    pub(super) fn extension(self) -> &'static str {
        match self {
            Format::Ndjson => "jsonl",
            Format::Csv => "csv",
            Format::Parquet => "parquet",
            Format::Xlsx => "xlsx",
            Format::Bibtex | Format::Ris | Format::CslJson => {
                self.references().map_or("", ReferenceFormat::extension)
            }
        }
    }

    /// Returns the formats whose files may end so.
    fn with_extension(extension: &str) -> impl Iterator<Item = Format> {
        let extension = extension.to_ascii_lowercase();
        Format::value_variants().iter().copied().filter(move |format| {
            let is_lines = *format == Format::Ndjson;
            format.extension() == extension || is_lines && LINE_EXTENSIONS.contains(&&*extension)
        })
    }

    /// Returns the format of reference managers, if it is one.
    pub(super) fn references(self) -> Option<ReferenceFormat> {
        match self {
            Format::Bibtex => Some(ReferenceFormat::Bibtex),
            Format::Ris => Some(ReferenceFormat::Ris),
            Format::CslJson => Some(ReferenceFormat::Csl),
            Format::Ndjson | Format::Csv | Format::Parquet | Format::Xlsx => None,
        }
    }

    /// Returns whether the format is a table of cells.
    pub(super) fn is_table(self) -> bool {
        matches!(self, Format::Csv | Format::Xlsx)
    }

    /// Returns whether the files are compressed already.
    pub(super) fn is_compressed(self) -> bool {
        matches!(self, Format::Parquet | Format::Xlsx)
    }
}

/// Compression of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Compression {
    /// Zstandard with checksums, a frame for at most 512 lines.
    Zst,
    /// Gzip, a member for at most 512 lines.
    Gz,
    /// No compression.
    None,
}

impl Compression {
    /// Returns the ending of a compressed file's name.
    pub(super) fn extension(self) -> &'static str {
        match self {
            Compression::Zst => ".zst",
            Compression::Gz => ".gz",
            Compression::None => "",
        }
    }
}

fn parse_columns(text: &str) -> Result<Columns, String> {
    let columns = Columns::ALL.into_iter().find(|columns| columns.name() == text);
    columns.ok_or_else(|| format!("expected one of {}", Columns::ALL.map(Columns::name).join(", ")))
}

pub(crate) fn parse_entity(text: &str) -> Result<Entity, String> {
    let names = || Entity::all().map(|entity| entity.facts().plural).collect::<Vec<_>>();
    Entity::from_dump_name(text).ok_or_else(|| format!("expected one of {}", names().join(", ")))
}
