//! Writes records as rows of CSV.
//!
//! A column is a member without members of its own, named by its dotted path. A cell is never JSON:
//!
//! ```text
//! {"id":"HX_W1","authors":[{"id":"HX_A1","orcid":null},{"id":"HX_A2","orcid":"https://…"}],"year":2020}
//!
//! id,authors.id,authors.orcid,year
//! HX_W1,HX_A1; HX_A2,; https://…,2020
//! ```
//!
//! - A cell of a list joins its items by `; `. A null in a list is an empty item, so the columns of one list of
//!   objects have their items in the same order. An empty list has no items.
//! - An object whose keys are data, such as prices by year, is a list of `key: value`; keys of objects inside are
//!   joined by dots.
//! - Quotes, line ends (CRLF) and the escape of quotes are those of RFC 4180. A text that begins with `=` stays as it is.
//!
//! The row is made from the record's JSON, so a cell has the text that JSON has. Cost: one pass over the JSON.

use memchr::memchr2;

use crate::record::members::{Member, Members};
use crate::storage::ReadError;

/// Between the items of a cell.
const SEPARATOR: &[u8] = b"; ";
/// Between a key that is data and its value.
const AFTER_KEY: &[u8] = b": ";

/// The columns of a table, and the cells of the current row.
#[derive(Clone, Debug)]
pub struct CsvTable {
    columns: Vec<Column>,
    names: Vec<String>,
    cells: Vec<Cell>,
}

/// A member, with the cells that hold its value or the values below it.
#[derive(Clone, Debug)]
struct Column {
    name: &'static str,
    has_free_keys: bool,
    first: usize,
    end: usize,
    columns: Vec<Column>,
}

#[derive(Clone, Debug, Default)]
struct Cell {
    text: Vec<u8>,
    items: usize,
}

impl CsvTable {
    /// The table of records with these members.
    pub fn new(members: &Members) -> CsvTable {
        let mut names = Vec::new();
        let columns = columns_of(members.members(), "", &mut names);
        CsvTable { columns, cells: vec![Cell::default(); names.len()], names }
    }

    /// The table of records with these members, and with a member after `id`, or before all others if the records show
    /// no `id`.
    pub fn with_member_after_id(members: &Members, name: &'static str) -> CsvTable {
        let members = members.members();
        let before = members.iter().take(1).filter(|member| member.name == "id").count();
        let mut names = Vec::new();
        let mut columns = columns_of(&members[..before], "", &mut names);
        let first = names.len();
        names.push(name.to_owned());
        columns.push(Column {
            name,
            has_free_keys: false,
            first,
            end: names.len(),
            columns: Vec::new(),
        });
        columns.extend(columns_of(&members[before..], "", &mut names));
        CsvTable { columns, cells: vec![Cell::default(); names.len()], names }
    }

    /// Adds a column for a list that follows the members.
    #[must_use]
    pub fn with_list(mut self, name: &'static str) -> CsvTable {
        let first = self.cells.len();
        let columns = Vec::new();
        self.columns.push(Column { name, has_free_keys: false, first, end: first + 1, columns });
        self.names.push(name.to_owned());
        self.cells.push(Cell::default());
        self
    }

    /// The names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Appends the header line.
    pub fn write_header(&self, out: &mut Vec<u8>) {
        write_line(self.names.iter().map(String::as_bytes), out);
    }

    /// Appends the row of a record, given its JSON as [`Members::render`] writes it.
    ///
    /// # Errors
    ///
    /// If the JSON is that of other members.
    pub fn write_row(&mut self, json: &[u8], out: &mut Vec<u8>) -> Result<(), ReadError> {
        write_line(self.cells(json)?, out);
        Ok(())
    }

    /// The cells of a record, given its JSON as [`Members::render`] writes it.
    ///
    /// # Errors
    ///
    /// If the JSON is that of other members.
    pub fn cells(&mut self, json: &[u8]) -> Result<impl Iterator<Item = &[u8]>, ReadError> {
        for cell in &mut self.cells {
            cell.text.clear();
            cell.items = 0;
        }
        let mut filler = CellFiller { json: JsonText(json), cells: &mut self.cells };
        filler
            .object(&self.columns)
            .ok_or(ReadError::Internal("the JSON of a record has other members than its table"))?;
        Ok(self.cells.iter().map(|cell| cell.text.as_slice()))
    }
}

fn columns_of(members: &[Member], prefix: &str, names: &mut Vec<String>) -> Vec<Column> {
    let columns = members.iter().map(|member| {
        let first = names.len();
        let path = format!("{prefix}{}", member.name);
        let columns = columns_of(&member.members, &format!("{path}."), names);
        if columns.is_empty() {
            names.push(path);
        }
        Column {
            name: member.name,
            has_free_keys: member.has_free_keys,
            first,
            end: names.len(),
            columns,
        }
    });
    columns.collect()
}

/// Writes the fields of one row.
pub fn write_line<'f>(fields: impl Iterator<Item = &'f [u8]>, out: &mut Vec<u8>) {
    let from = out.len();
    for (at, field) in fields.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_field(field, out);
    }
    if out.len() == from {
        // A line without a byte would be no row to many readers.
        out.extend_from_slice(b"\"\"");
    }
    out.extend_from_slice(b"\r\n");
}

fn write_field(field: &[u8], out: &mut Vec<u8>) {
    let is_special = |byte: &u8| matches!(byte, b',' | b'"' | b'\n' | b'\r');
    // The fold has no early exit, so that it is vectorised.
    if !field.iter().fold(false, |any, byte| any | is_special(byte)) {
        return out.extend_from_slice(field);
    }
    out.push(b'"');
    let from = out.len();
    // Quotes are doubled, so the output has room for all of the field.
    out.resize(from + 2 * field.len(), 0);
    let (_, _, bytes) = csv_core::quote(field, &mut out[from..], b'"', b'\\', true);
    out.truncate(from + bytes);
    out.push(b'"');
}

impl Cell {
    fn begin_item(&mut self) {
        if self.items > 0 {
            self.text.extend_from_slice(SEPARATOR);
        }
        self.items += 1;
    }
}

/// Moves values of a JSON text into cells. Functions return `None` where the text is not as expected.
struct CellFiller<'j, 'c> {
    json: JsonText<'j>,
    cells: &'c mut [Cell],
}

impl CellFiller<'_, '_> {
    /// Moves the members of an object. The members have the order of the columns; some may be absent.
    fn object(&mut self, columns: &[Column]) -> Option<()> {
        let mut left = columns.iter();
        self.json.skip(b'{')?;
        while !self.json.skip_if(b'}') {
            self.json.skip_if(b',');
            let name = self.json.key()?;
            loop {
                let column = left.next()?;
                if column.name.as_bytes() == name {
                    self.value(column)?;
                    break;
                }
                self.null(column);
            }
        }
        left.for_each(|column| self.null(column));
        Some(())
    }

    fn value(&mut self, column: &Column) -> Option<()> {
        match self.json.peek()? {
            b'[' => {
                self.json.skip(b'[')?;
                while !self.json.skip_if(b']') {
                    self.json.skip_if(b',');
                    self.value(column)?;
                }
                Some(())
            }
            b'{' if column.has_free_keys => self.free_keys(column.first, &mut Vec::new()),
            b'{' => self.object(&column.columns),
            b'n' => {
                self.json.scalar();
                self.null(column);
                Some(())
            }
            _ => {
                let cell = &mut self.cells[column.first];
                cell.begin_item();
                self.json.text(&mut cell.text)
            }
        }
    }

    fn null(&mut self, column: &Column) {
        self.cells[column.first..column.end].iter_mut().for_each(Cell::begin_item);
    }

    /// Moves an object whose keys are data, each value after its key.
    fn free_keys(&mut self, cell: usize, prefix: &mut Vec<u8>) -> Option<()> {
        match self.json.peek()? {
            b'{' => {
                self.json.skip(b'{')?;
                let length = prefix.len();
                while !self.json.skip_if(b'}') {
                    self.json.skip_if(b',');
                    // Nested keys are one path: `display_name.de`.
                    if length > 0 {
                        prefix.push(b'.');
                    }
                    self.json.text(prefix)?;
                    self.json.skip(b':')?;
                    self.free_keys(cell, prefix)?;
                    // The next key has the same path before it.
                    prefix.truncate(length);
                }
                Some(())
            }
            b'[' => {
                self.json.skip(b'[')?;
                while !self.json.skip_if(b']') {
                    self.json.skip_if(b',');
                    self.free_keys(cell, prefix)?;
                }
                Some(())
            }
            first => {
                let cell = &mut self.cells[cell];
                cell.begin_item();
                cell.text.extend_from_slice(prefix);
                cell.text.extend_from_slice(AFTER_KEY);
                // A null is a key without a value.
                if first == b'n' {
                    self.json.scalar();
                    return Some(());
                }
                self.json.text(&mut cell.text)
            }
        }
    }
}

/// The rest of a JSON text without spaces between its tokens, as this crate writes it.
struct JsonText<'j>(&'j [u8]);

impl<'j> JsonText<'j> {
    fn peek(&self) -> Option<u8> {
        self.0.first().copied()
    }

    fn skip(&mut self, byte: u8) -> Option<()> {
        self.skip_if(byte).then_some(())
    }

    fn skip_if(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.0 = &self.0[usize::from(is_next)..];
        is_next
    }

    /// Reads the key of a declared member, which has no escapes, and the colon.
    fn key(&mut self) -> Option<&'j [u8]> {
        self.skip(b'"')?;
        let (key, rest) = self.0.split_at_checked(memchr::memchr(b'"', self.0)?)?;
        self.0 = rest.strip_prefix(b"\":")?;
        Some(key)
    }

    /// Reads a number, `true`, `false` or `null`.
    fn scalar(&mut self) -> &'j [u8] {
        let end = self.0.iter().position(|byte| matches!(byte, b',' | b']' | b'}'));
        let (scalar, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest;
        scalar
    }

    /// Appends the next string without its escapes, or the next scalar.
    fn text(&mut self, out: &mut Vec<u8>) -> Option<()> {
        if !self.skip_if(b'"') {
            out.extend_from_slice(self.scalar());
            return Some(());
        }
        loop {
            let end = memchr2(b'"', b'\\', self.0)?;
            let (plain, rest) = self.0.split_at_checked(end)?;
            out.extend_from_slice(plain);
            self.0 = rest;
            if self.skip_if(b'"') {
                return Some(());
            }
            self.escape(out)?;
        }
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Option<()> {
        let (escape, rest) = self.0.split_at_checked(2)?;
        self.0 = rest;
        let byte = match escape[1] {
            b'b' => 0x08,
            b't' => b'\t',
            b'n' => b'\n',
            b'f' => 0x0c,
            b'r' => b'\r',
            b'u' => {
                let (digits, rest) = self.0.split_first_chunk::<4>()?;
                self.0 = rest;
                let code = u32::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
                let letter = char::from_u32(code)?;
                out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                return Some(());
            }
            itself => itself,
        };
        out.push(byte);
        Some(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::entity::Entity;
    use crate::record::members::View;

    fn row(entity: Entity, view: View, is_kept: fn(&str) -> bool, json: &str) -> String {
        let all = Members::all(entity, view);
        let kept = (0..all.members().len()).filter(|at| is_kept(all.members()[*at].name));
        let mut table = CsvTable::new(&all.select(&kept.map(|at| vec![at]).collect::<Vec<_>>()));
        let mut out = Vec::new();
        table.write_header(&mut out);
        table.write_row(json.as_bytes(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn cells_are_quoted_where_needed_and_lines_end_in_crlf() {
        let is_text = |name: &str| ["title", "keywords", "year"].contains(&name);
        let check = |json: &str, expected: &str| {
            let found = row(Entity::Output, View::List, is_text, json);
            assert_eq!(found.strip_prefix("title,year,keywords\r\n").unwrap(), expected, "{json}");
        };
        check(r#"{"title":"a","year":1,"keywords":["b","c"]}"#, "a,1,b; c\r\n");
        check(r#"{"title":null,"year":null,"keywords":null}"#, ",,\r\n");
        check(r#"{"title":"","year":0,"keywords":[]}"#, ",0,\r\n");
        check(r#"{"title":"=1+1","year":-1,"keywords":["-x"]}"#, "=1+1,-1,-x\r\n");
        check(r#"{"title":"a,b","year":1,"keywords":["a\"b"]}"#, "\"a,b\",1,\"a\"\"b\"\r\n");
        check(r#"{"title":"a\nb","year":1,"keywords":["\r"]}"#, "\"a\nb\",1,\"\r\"\r\n");
        check(
            r#"{"title":"\"\"","year":1,"keywords":["\\","\u0001\t"]}"#,
            "\"\"\"\"\"\",1,\\; \u{1}\t\r\n",
        );
        check(r#"{"title":"東京 é","year":1,"keywords":["; "]}"#, "東京 é,1,; \r\n");
        let only = row(Entity::Output, View::List, |name| name == "title", r#"{"title":null}"#);
        assert_eq!(only, "title\r\n\"\"\r\n");
    }

    #[test]
    fn lists_of_objects_become_aligned_columns() {
        let found = row(
            Entity::Author,
            View::Single,
            |name| name == "affiliations",
            r#"{"affiliations":[{"id":"HX_I1","name":"a","years":[2000,2001]},{"id":null,"name":"b","years":null},{"id":"HX_I3","name":null,"years":[]}]}"#,
        );
        assert_eq!(
            found,
            "affiliations.id,affiliations.name,affiliations.years\r\nHX_I1; ; HX_I3,a; b; ,2000; 2001; \r\n"
        );
        let null = row(
            Entity::Author,
            View::Single,
            |name| name == "affiliations",
            r#"{"affiliations":null}"#,
        );
        assert!(null.ends_with("\r\n,,\r\n"), "{null}");
    }

    #[test]
    fn keys_that_are_data_stand_before_their_values() {
        let found = row(
            Entity::Source,
            View::List,
            |name| name == "apc_usd_by_year",
            r#"{"apc_usd_by_year":{"2020":100,"2021":null}}"#,
        );
        assert_eq!(found, "apc_usd_by_year\r\n2020: 100; 2021: \r\n");
        let found = row(
            Entity::Institution,
            View::Single,
            |name| name == "international",
            r#"{"international":{"display_name":{"de":"Universität","x":["a","b"]}}}"#,
        );
        assert_eq!(
            found,
            "international\r\ndisplay_name.de: Universität; display_name.x: a; display_name.x: b\r\n"
        );
    }

    #[test]
    fn absent_members_are_empty_cells_and_other_json_is_refused() {
        let all = Members::all(Entity::Output, View::Export);
        let mut table = CsvTable::new(all);
        let mut out = Vec::new();
        table.write_row(br#"{"id":"HX_W1","year":2020}"#, &mut out).unwrap();
        assert_eq!(out.iter().filter(|byte| **byte == b',').count(), table.names().len() - 1);
        for json in ["", "{", "{\"id\":", "{\"other\":1}", "[]", "{\"id\":\"\\"] {
            assert!(table.write_row(json.as_bytes(), &mut out).is_err(), "{json}");
        }
    }
}
