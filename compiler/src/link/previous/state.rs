//! The state that a link keeps for the next: what each record says, and what indexes leave out.
//!
//! ```text
//! SNAPSHOTS/.linked/ID.state
//!   program: 32 bytes | for each entity: records, is extended, bytes of words: u64 each
//!   | for each entity: the content hash of each record, ascending by id: 16 bytes each
//!   | for each entity: the state of its words | BLAKE3 of all before
//! ```

use std::fs::File;
use std::io;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::Path;

use pinakes_format::entity::Entity;
use pinakes_format::schema::schema_hash;
use pinakes_format::storage::mmap::Map;
use pinakes_format::storage::{FORMAT_VERSION, Spool};

use crate::link::merge::entity_rows::EntityRows;
use crate::object::directory::OBJECT_VERSION;

/// Bytes of a BLAKE3 hash.
const HASH_BYTES: usize = 32;
/// Numbers of an entity in the head.
const HEAD_NUMBERS: usize = 3;

/// The faults of a state.
const UNREADABLE: &str = "cannot be read";
const DAMAGED: &str = "is damaged";
const OF_ANOTHER_VERSION: &str = "is of another version of this program";

/// The state that the link of a snapshot kept. The file was whole when it was opened.
pub(crate) struct LinkState {
    map: Map,
    entities: Vec<EntityState>,
}

/// The state of one entity, as ranges of the file.
struct EntityState {
    is_extended: bool,
    contents: Range<usize>,
    words: Range<usize>,
}

/// The state of a link while the link runs.
#[derive(Default)]
pub(crate) struct NextState {
    /// Whether side tables extend records of the entity.
    pub is_extended: Vec<bool>,
    /// For each entity with names, the state of its words.
    pub words: Vec<Option<Spool>>,
}

/// Identifies what the hashes and the state of words depend on, besides the records.
fn program() -> [u8; HASH_BYTES] {
    let (version, schema) = (env!("CARGO_PKG_VERSION"), schema_hash());
    let text = format!("{version} {FORMAT_VERSION} {schema:016x} {OBJECT_VERSION}");
    *blake3::hash(text.as_bytes()).as_bytes()
}

impl LinkState {
    /// Opens a state and checks all of its bytes; `None` if there is no such file.
    ///
    /// # Errors
    ///
    /// The fault of a state that cannot be read, is damaged, or was written by another version of this program.
    pub(crate) fn open(path: &Path) -> Result<Option<LinkState>, &'static str> {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(|_| UNREADABLE)?,
        };
        let map = Map::open(&file).map_err(|_| UNREADABLE)?;
        // The whole file is hashed before anything in it is believed.
        let hashed = map.len().checked_sub(HASH_BYTES).and_then(|at| map.split_at_checked(at));
        let (bytes, hash) = hashed.ok_or(DAMAGED)?;
        if blake3::hash(bytes).as_bytes() != hash {
            return Err(DAMAGED);
        }
        let rest = bytes.strip_prefix(&program()).ok_or(OF_ANOTHER_VERSION)?;
        let entities = read_head(rest, bytes.len()).ok_or(DAMAGED)?;
        Ok(Some(LinkState { map, entities }))
    }

    /// The content hash of each record, ascending by id.
    pub(crate) fn contents(&self, entity: Entity) -> &[[u8; EntityRows::CONTENT_BYTES]] {
        self.map[self.entities[entity as usize].contents.clone()].as_chunks().0
    }

    /// The state of the words of an entity.
    pub(crate) fn words(&self, entity: Entity) -> &[u8] {
        &self.map[self.entities[entity as usize].words.clone()]
    }

    /// Whether side tables extended records of the entity.
    pub(crate) fn is_extended(&self, entity: Entity) -> bool {
        self.entities[entity as usize].is_extended
    }
}

/// Reads the head of a state of `length` bytes, which follows the program: where the hashes and the words of each entity
/// lie. `None` if they do not fill the rest.
fn read_head(rest: &[u8], length: usize) -> Option<Vec<EntityState>> {
    let (head, _) = rest.split_at_checked(Entity::COUNT * HEAD_NUMBERS * 8)?;
    let numbers = head.as_chunks::<{ HEAD_NUMBERS * 8 }>().0.iter().map(|entity| {
        let numbers = entity.as_chunks::<8>().0;
        std::array::from_fn::<_, HEAD_NUMBERS, _>(|at| u64::from_le_bytes(numbers[at]))
    });
    let mut at = HASH_BYTES + head.len();
    let mut take = |bytes: u64| {
        let to = at.checked_add(usize::try_from(bytes).ok()?)?;
        (to <= length).then(|| std::mem::replace(&mut at, to)..to)
    };
    // The hashes of all entities come before the words of the first.
    let mut entities = Vec::with_capacity(Entity::COUNT);
    for [records, is_extended, words] in numbers {
        let contents = take(records.checked_mul(EntityRows::CONTENT_BYTES as u64)?)?;
        entities
            .push((EntityState { is_extended: is_extended != 0, contents, words: 0..0 }, words));
    }
    let entities =
        entities.into_iter().map(|(of, words)| Some(EntityState { words: take(words)?, ..of }));
    let entities = entities.collect::<Option<Vec<_>>>()?;
    (at == length).then_some(entities)
}

impl NextState {
    pub(crate) fn new(is_extended: impl Fn(Entity) -> bool) -> NextState {
        NextState {
            is_extended: Entity::all().map(is_extended).collect(),
            words: Entity::all().map(|_| None).collect(),
        }
    }

    /// Writes the state to a new file; returns false without one if the link was of a subset.
    pub(crate) fn write(self, rows: &[EntityRows], path: &Path) -> io::Result<bool> {
        let contents: Option<Vec<_>> = rows.iter().map(|rows| rows.contents.as_ref()).collect();
        let Some(contents) = contents else { return Ok(false) };
        let words: io::Result<Vec<Map>> = self
            .words
            .into_iter()
            .map(|spool| spool.map_or_else(|| Ok(Map::empty()), |mut spool| spool.take_map()))
            .collect();
        let words = words?;
        let file = BufWriter::with_capacity(1 << 18, File::create_new(path)?);
        let mut out = HashingWriter { file, hasher: blake3::Hasher::new() };
        out.write(&program())?;
        for ((contents, words), is_extended) in contents.iter().zip(&words).zip(self.is_extended) {
            for number in [contents.len() as u64, u64::from(is_extended), words.len() as u64] {
                out.write(&number.to_le_bytes())?;
            }
        }
        contents.iter().try_for_each(|of| {
            of.chunks::<{ EntityRows::CONTENT_BYTES }>()
                .chunks(1 << 12)
                .try_for_each(|hashes| out.write(hashes.as_flattened()))
        })?;
        words.iter().try_for_each(|of| of.chunks(1 << 16).try_for_each(|some| out.write(some)))?;
        let hash = out.hasher.finalize();
        out.file.write_all(hash.as_bytes())?;
        out.file.flush()?;
        Ok(true)
    }
}

/// Writes and hashes a file.
struct HashingWriter {
    file: BufWriter<File>,
    hasher: blake3::Hasher,
}

impl HashingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.update(bytes);
        self.file.write_all(bytes)
    }
}
