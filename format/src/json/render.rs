//! Renders packed records as JSON text.
//!
//! A [`JsonWriter`] holds the text so far. The writer looks up ids and names of rows, codes and long texts in a
//! [`RecordStore`]. Every look-up is checked: a damaged file causes an error, never a wrong answer.

use crate::entity::{Entity, NO_ID};
use crate::json::record_reader::RecordReader;
use crate::storage::{ReadError, bytes_in};
use crate::text::{json, time};

/// The members that a record shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// All members.
    Single,
    /// The members of an item in a list.
    List,
}

/// A type of a record's values with a JSON form.
pub trait Render {
    /// Reads the next value of a record and appends its JSON text.
    ///
    /// # Errors
    ///
    /// Where the snapshot is damaged. The writer then holds an incomplete text.
    fn render(from: &mut RecordReader<'_>, writer: &mut JsonWriter<'_>) -> Result<(), ReadError>;
}

/// The rows, codes and records that a [`JsonWriter`] looks up while it renders.
///
/// Texts that are only printed are bytes. They were UTF-8 when the snapshot was written, and have their
/// hash; checking them again for each reply took a twentieth of its time.
pub trait RecordStore: Sync {
    /// The id of a row; [`NO_ID`] where the row has none.
    ///
    /// # Errors
    ///
    /// Where there is no such row, or its bytes are damaged.
    fn row_id(&self, entity: Entity, row: u32) -> Result<u64, ReadError>;

    /// The name of a row; `None` where it has none, or is suppressed.
    fn row_name(&self, entity: Entity, row: u32) -> Result<Option<&str>, ReadError>;

    /// The id and the name of a row, of an entity that others refer to.
    fn reference(&self, entity: Entity, row: u32) -> Result<(u64, Option<&[u8]>), ReadError>;

    /// The text of a code.
    ///
    /// # Errors
    ///
    /// Where there is no such code, or its bytes are damaged.
    fn code(&self, code: u32) -> Result<&[u8], ReadError>;

    /// The name of a code; `None` where it has none.
    fn code_name(&self, code: u32) -> Result<Option<&[u8]>, ReadError>;

    /// Whether a row has a record that is not suppressed.
    fn has_record(&self, entity: Entity, row: u32) -> bool;

    /// Whether a reference to a row has an id alone because the record is suppressed. Where records were suppressed, each id
    /// without a record and a name counts as such: a snapshot that was built without them cannot tell.
    fn is_placeholder(&self, entity: Entity, row: u32) -> Result<bool, ReadError>;

    /// The bytes of the record in a row.
    ///
    /// # Errors
    ///
    /// Where the row has no record, or its bytes are damaged.
    fn record(&self, entity: Entity, row: u32) -> Result<RecordBytes<'_>, ReadError>;
}

/// The two parts of a stored record.
#[derive(Clone, Copy, Debug)]
pub struct RecordBytes<'s> {
    /// The packed record, for a [`RecordReader`].
    pub packed: &'s [u8],
    /// The compressed pool of the record's long texts; empty where it has none.
    pub long_texts: &'s [u8],
}

/// A JSON text in one shape, with the store that references are looked up in.
pub struct JsonWriter<'s> {
    /// The text so far.
    pub out: Vec<u8>,
    store: &'s dyn RecordStore,
    shape: Shape,
    /// Whether objects have the members that no reply shows.
    has_key_members: bool,
    record: CurrentRecord<'s>,
}

/// The long texts of the record that a writer renders at present.
#[derive(Default)]
pub(crate) struct CurrentRecord<'s> {
    /// The compressed pool of long texts. Decompressed at the first long text.
    long_text_frame: &'s [u8],
    long_text_pool: Option<Vec<u8>>,
}

impl<'s> CurrentRecord<'s> {
    pub fn new(bytes: RecordBytes<'s>) -> CurrentRecord<'s> {
        CurrentRecord { long_text_frame: bytes.long_texts, long_text_pool: None }
    }
}

/// An object that is being written: the offset of its first byte in the text.
#[must_use]
pub(crate) struct OpenObject(usize);

impl<'s> JsonWriter<'s> {
    /// An empty writer in a shape.
    pub fn new(store: &'s dyn RecordStore, shape: Shape) -> JsonWriter<'s> {
        JsonWriter {
            out: Vec::new(),
            store,
            shape,
            has_key_members: false,
            record: CurrentRecord::default(),
        }
    }

    /// An empty writer for lines of an export: single records, with the members that no reply shows. A build
    /// of the export therefore answers as the exported snapshot.
    pub fn for_export(store: &'s dyn RecordStore) -> JsonWriter<'s> {
        JsonWriter { has_key_members: true, ..JsonWriter::new(store, Shape::Single) }
    }

    /// Whether objects have the members that no reply shows.
    pub(crate) fn has_key_members(&self) -> bool {
        self.has_key_members
    }

    /// Makes a record the current one; returns the previous one.
    pub(crate) fn swap_record(&mut self, record: CurrentRecord<'s>) -> CurrentRecord<'s> {
        std::mem::replace(&mut self.record, record)
    }

    /// Appends a text.
    #[inline]
    pub(crate) fn text(&mut self, text: &[u8]) {
        json::string_of_bytes(&mut self.out, text);
    }

    /// Begins an object of [`JsonWriter::member`]s.
    #[inline]
    pub(crate) fn begin_object(&mut self) -> OpenObject {
        OpenObject(self.out.len())
    }

    /// Appends a comma, a quoted key and a colon. [`JsonWriter::end_object`] turns the first comma into `{`.
    #[inline(always)]
    pub(crate) fn member(&mut self, key: &'static str) {
        self.out.extend_from_slice(key.as_bytes());
    }

    /// Ends an object.
    #[inline]
    pub(crate) fn end_object(&mut self, object: OpenObject) {
        match self.out.get_mut(object.0) {
            Some(comma) => *comma = b'{',
            None => self.out.push(b'{'),
        }
        self.out.push(b'}');
    }

    /// The shape of records.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The store that references are looked up in.
    pub fn store(&self) -> &'s dyn RecordStore {
        self.store
    }

    /// Appends `{`.
    pub fn open_object(&mut self) {
        self.out.push(b'{');
    }

    /// Appends `}`.
    pub fn close_object(&mut self) {
        self.out.push(b'}');
    }

    /// Appends a key, given with its quotes and colon, and a comma before it unless it is the first.
    pub fn key(&mut self, quoted: &str) {
        if self.out.last() != Some(&b'{') {
            self.out.push(b',');
        }
        self.out.extend_from_slice(quoted.as_bytes());
    }

    /// Appends `null`.
    pub fn null(&mut self) {
        self.out.extend_from_slice(b"null");
    }

    /// Appends a record's id: a string with a prefix, or an integer in the taxonomy.
    pub fn id(&mut self, entity: Entity, id: u64) {
        match entity.facts().letter {
            Some(_) => self.id_text(entity, id),
            None => json::unsigned(&mut self.out, id),
        }
    }

    /// Appends an id as a string.
    pub fn id_text(&mut self, entity: Entity, id: u64) {
        self.out.push(b'"');
        entity.write_id(id, &mut self.out);
        self.out.push(b'"');
    }

    /// Appends the members `id` and `name` of the record in `row` to an object of [`JsonWriter::member`]s.
    pub(crate) fn reference(
        &mut self,
        entity: Entity,
        row: u32,
        id_as_text: bool,
    ) -> Result<(), ReadError> {
        let (id, name) = self.store.reference(entity, row)?;
        self.member(",\"id\":");
        self.id_or_null(entity, id, id_as_text);
        self.member(",\"name\":");
        self.text_or_null(name);
        Ok(())
    }

    /// Appends the id of the record in `row`, or `null` where the row has only a name.
    pub(crate) fn reference_id(
        &mut self,
        entity: Entity,
        row: u32,
        id_as_text: bool,
    ) -> Result<(), ReadError> {
        let id = self.store.row_id(entity, row)?;
        self.id_or_null(entity, id, id_as_text);
        Ok(())
    }

    /// Appends the name of the record in `row`, or `null`.
    pub(crate) fn reference_name(&mut self, entity: Entity, row: u32) -> Result<(), ReadError> {
        let name = self.store.row_name(entity, row)?;
        self.text_or_null(name.map(str::as_bytes));
        Ok(())
    }

    fn id_or_null(&mut self, entity: Entity, id: u64, as_text: bool) {
        match id {
            NO_ID => self.null(),
            id if as_text => self.id_text(entity, id),
            id => self.id(entity, id),
        }
    }

    pub(crate) fn text_or_null(&mut self, text: Option<&[u8]>) {
        match text {
            Some(text) => json::string_of_bytes(&mut self.out, text),
            None => self.null(),
        }
    }

    /// Appends the text of a code.
    pub(crate) fn code(&mut self, code: u32) -> Result<(), ReadError> {
        let text = self.store.code(code)?;
        json::string_of_bytes(&mut self.out, text);
        Ok(())
    }

    /// Appends the name of a code, or `null`.
    pub(crate) fn code_name(&mut self, code: u32) -> Result<(), ReadError> {
        let name = self.store.code_name(code)?;
        self.text_or_null(name);
        Ok(())
    }

    /// Appends a long text of the current record, given its range in the pool.
    pub(crate) fn long_text(&mut self, offset: u32, length: u32) -> Result<(), ReadError> {
        self.inflate_long_texts()?;
        let bytes =
            bytes_in(self.record.long_text_pool.as_deref().unwrap_or_default(), offset, length)?;
        json::string_of_bytes(&mut self.out, bytes);
        Ok(())
    }

    /// A long text of the current record, given its range in the pool.
    pub(crate) fn long_text_bytes(&mut self, offset: u32, length: u32) -> Result<&[u8], ReadError> {
        self.inflate_long_texts()?;
        bytes_in(self.record.long_text_pool.as_deref().unwrap_or_default(), offset, length)
    }

    fn inflate_long_texts(&mut self) -> Result<(), ReadError> {
        let record = &mut self.record;
        if record.long_text_pool.is_none() {
            let pool = crate::storage::long_text::inflate(record.long_text_frame)?;
            record.long_text_pool = Some(pool);
        }
        Ok(())
    }

    /// Appends `YYYY-MM-DD`.
    pub(crate) fn day(&mut self, year: u16, month: u8, day: u8) {
        time::write_day(&mut self.out, year, month, day);
    }

    /// Appends `YYYY-MM-DDTHH:MM:SS` and `fraction_digits` digits of its fraction.
    pub(crate) fn moment(&mut self, micros: i64, digits: u8) -> Result<(), ReadError> {
        time::write_moment(&mut self.out, micros, digits)
            .ok_or(ReadError::corrupt("records", "a time has no four-digit year"))
    }

    /// Appends an ORCID iD as a URL.
    pub(crate) fn orcid_url(&mut self, orcid: &[u8]) {
        self.out.extend_from_slice(b"\"https://orcid.org/");
        let from = self.out.len();
        json::string_of_bytes(&mut self.out, orcid);
        self.out.remove(from);
    }
}
