//! A reader of a snapshot's files written from FORMAT.md alone: manifest, hash tree, archives.

use std::{fs, path::Path};

use blake3::{
    Hash, Hasher,
    hazmat::{ChainingValue, HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root},
};

const VERSION: u8 = 20;
const CHUNK: usize = 4_096;
const RUN: usize = 32;
const FENCE: usize = 256;
/// Fences for each fence of the next layer, and the most fences of the last layer.
const LAYER: usize = 1_024;
const LAST_LAYER: usize = 4_096;

/// A file as the manifest lists it.
pub struct Entry {
    pub path: String,
    pub size: usize,
    pub hash: String,
}

/// Reads the manifest, demanding its root.
pub fn manifest(directory: &Path) -> (String, Vec<Entry>) {
    let text = fs::read_to_string(directory.join("manifest.json")).unwrap();
    let after = |line: &str, key: &str| {
        let value = line.trim().strip_prefix(key)?.trim_end_matches(',');
        Some(value.trim_matches('"').to_string())
    };
    let (mut blanked, mut id, mut root) = (String::new(), String::new(), String::new());
    let (mut paths, mut sizes, mut hashes) = (Vec::new(), Vec::new(), Vec::new());
    for line in text.lines() {
        if let Some(value) = after(line, "\"id\": ") {
            id = value;
            blanked += "  \"id\": \"\",\n";
        } else if let Some(value) = after(line, "\"root\": ") {
            root = value;
            blanked += "  \"root\": \"\",\n";
        } else {
            blanked = blanked + line + "\n";
        }
        paths.extend(after(line, "\"path\": "));
        sizes.extend(after(line, "\"size_bytes\": "));
        hashes.extend(after(line, "\"blake3\": "));
    }
    assert_eq!(blake3::hash(blanked.as_bytes()).to_hex().as_str(), root);
    assert_eq!(id, root[..16]);
    assert!(text.contains(&format!("  \"format_version\": {VERSION},\n")));
    let entries = paths.into_iter().zip(sizes).zip(hashes);
    let entries = entries.map(|((path, size), hash)| {
        let size = size.parse().unwrap();
        Entry { path, size, hash }
    });
    (root, entries.collect())
}

/// The values of each level of a file of this size.
pub fn level_lengths(size: u64) -> Vec<u64> {
    let mut lengths = Vec::new();
    let mut length = size.div_ceil(CHUNK as u64);
    if length > 1 {
        lengths.push(length);
    }
    while length > RUN as u64 {
        length = length.div_ceil(RUN as u64);
        lengths.push(length);
    }
    lengths
}

pub fn chunk_value(chunk: usize, bytes: &[u8]) -> ChainingValue {
    let offset = (chunk * CHUNK) as u64;
    Hasher::new().set_input_offset(offset).update(bytes).finalize_non_root()
}

fn half(values: &[ChainingValue]) -> usize {
    let mut half = 1;
    while half * 2 < values.len() {
        half *= 2;
    }
    half
}

pub fn cover(values: &[ChainingValue]) -> ChainingValue {
    if let [value] = values {
        return *value;
    }
    let (left, right) = values.split_at(half(values));
    merge_subtrees_non_root(&cover(left), &cover(right), Mode::Hash)
}

pub fn root_of(values: &[ChainingValue]) -> Hash {
    let (left, right) = values.split_at(half(values));
    merge_subtrees_root(&cover(left), &cover(right), Mode::Hash)
}

/// The values of the levels above a level, and the root.
pub fn levels_above(level: Vec<ChainingValue>) -> (Vec<ChainingValue>, Hash) {
    let (mut above, mut last) = (Vec::new(), level);
    while last.len() > RUN {
        last = last.chunks(RUN).map(cover).collect();
        above.extend_from_slice(&last);
    }
    (above, root_of(&last))
}

/// Reads every file, each demanded whole and by its tree, whose values stand in `hashes`.
pub fn verify(directory: &Path, entries: &[Entry]) {
    let hashes = fs::read(directory.join("hashes")).unwrap();
    let mut from = 0;
    for entry in entries {
        let bytes = fs::read(directory.join(&entry.path)).unwrap();
        assert_eq!(bytes.len(), entry.size, "{}", entry.path);
        assert_eq!(blake3::hash(&bytes).to_hex().as_str(), entry.hash, "{}", entry.path);
        let count = level_lengths(entry.size as u64).iter().sum::<u64>() as usize;
        if entry.path == "hashes" || count == 0 {
            continue;
        }
        let stored: Vec<ChainingValue> =
            hashes[from..from + count * 32].chunks(32).map(|v| v.try_into().unwrap()).collect();
        from += count * 32;
        let mut level: Vec<_> =
            bytes.chunks(CHUNK).enumerate().map(|(at, chunk)| chunk_value(at, chunk)).collect();
        let (above, root) = levels_above(level.clone());
        level.extend(above);
        assert_eq!(level, stored, "{}", entry.path);
        assert_eq!(root.to_hex().as_str(), entry.hash, "{}", entry.path);
    }
    assert_eq!(from, hashes.len());
}

/// An archive's bytes.
pub struct Archive(pub Vec<u8>);

impl Archive {
    pub fn open(directory: &Path, path: &str) -> Archive {
        let bytes = fs::read(directory.join(path)).unwrap();
        assert_eq!(&bytes[..8], b"PINAKES\x1a");
        assert_eq!(bytes[8..16], [VERSION, 0, 0, 0, 7, 0, 0, 0]);
        Archive(bytes)
    }

    pub fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.0[at..at + 4].try_into().unwrap())
    }

    pub fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.0[at..at + 8].try_into().unwrap())
    }

    pub fn published(&self) -> usize {
        self.u64(32) as usize
    }

    pub fn rows(&self) -> usize {
        self.u64(40) as usize
    }

    /// Where blob `at` of `count` lies.
    pub fn blob_place(&self, at: usize, count: usize, prefix: usize) -> Option<(usize, usize)> {
        const NULL: u64 = 1 << 63;
        let offsets = self.0.len() - 8 * (count + 1);
        let from = self.u64(offsets + 8 * at);
        if from & NULL != 0 {
            return None;
        }
        let (from, to) = (from as usize, (self.u64(offsets + 8 * at + 8) & !NULL) as usize);
        assert!(64 + prefix <= from && from <= to && to <= offsets);
        Some((from, to))
    }

    pub fn blob(&self, at: usize, count: usize, prefix: usize) -> Option<&[u8]> {
        self.blob_place(at, count, prefix).map(|(from, to)| &self.0[from..to])
    }

    /// In `ids`: the id of a row.
    pub fn id(&self, row: usize) -> u64 {
        self.u64(64 + 8 * row)
    }

    /// In `ids`: the row of an id.
    pub fn row(&self, id: u64) -> Option<u32> {
        let (published, pairs) = (self.published(), 64 + 8 * self.rows());
        self.check_fences((pairs, 12), published);
        let pair = (0..published).map(|at| pairs + 12 * at).find(|at| self.u64(*at) == id)?;
        Some(self.u32(pair + 8))
    }

    /// Demands that the fences of `count` pairs, which begin at an offset and have a size, end the file.
    fn check_fences(&self, (pairs, pair): (usize, usize), count: usize) {
        let (mut from, mut apart) = (pairs + pair * count, FENCE);
        loop {
            let fences = count.div_ceil(apart);
            for fence in 0..fences {
                assert_eq!(self.u64(from + 8 * fence), self.u64(pairs + pair * apart * fence));
            }
            from += 8 * fences;
            apart *= LAYER;
            if fences <= LAST_LAYER {
                break;
            }
        }
        assert_eq!(self.0.len(), from);
    }

    /// In `names`: the id and the name of a row.
    pub fn name(&self, row: usize) -> (u64, Option<&str>) {
        let slot = 64 + 32 * row;
        let bytes = match self.0[slot + 8] {
            254 => return (self.u64(slot), None),
            255 => {
                let (from, length) = (self.u64(slot + 9) as usize, self.u32(slot + 17) as usize);
                assert!(from >= 64 + 32 * self.rows());
                &self.0[from..from + length]
            }
            length => &self.0[slot + 9..][..usize::from(length)],
        };
        (self.u64(slot), Some(std::str::from_utf8(bytes).unwrap()))
    }

    /// In `redirects`: where a merged id lives.
    pub fn target(&self, id: u64) -> Option<u64> {
        let count = self.rows();
        self.check_fences((64, 16), count);
        let pair = (0..count).map(|at| 64 + 16 * at).find(|at| self.u64(*at) == id)?;
        Some(self.u64(pair + 8))
    }
}
