//! Where an object's bytes are while a run reads them: mapped, each by itself, while objects are
//! few; of more, those beyond are put behind one another in one file, which is mapped once. The
//! system allows a process some 65,000 mappings, and a dump may have more parts.

use std::{
    fs::File,
    io::{self, Write},
    ops::{Deref, Range},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use pinakes_format::storage::mmap::Map;

use crate::error::{Error, Result};
use crate::object::file::Object;

/// Objects mapped each by itself at a time: half of the mappings that Linux allows a process.
pub(crate) const MAPPED_MAX: usize = 32_768;

/// How many are.
static MAPPED: AtomicUsize = AtomicUsize::new(0);

/// An object's bytes.
pub(crate) enum Held {
    /// Mapped by themselves.
    Mapped(Mapping),
    /// Among those of others.
    Gathered(Arc<Map>, Range<usize>),
    /// In their file alone, until they are gathered.
    Filed(PathBuf),
}

/// A mapping that is counted.
pub(crate) struct Mapping(Map);

impl Mapping {
    fn count(map: Map, mapped_max: usize) -> Option<Mapping> {
        let more = |count: usize| (count < mapped_max).then_some(count + 1);
        MAPPED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Mapping(map))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        MAPPED.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Held {
    /// Keeps the mapping of an object's file, unless there are so many already.
    pub(crate) fn hold(map: Map, path: &Path, mapped_max: usize) -> Held {
        Mapping::count(map, mapped_max).map_or_else(|| Held::Filed(path.into()), Held::Mapped)
    }

    /// A range of the bytes, wherever they are; nothing where they cannot be read.
    pub(crate) fn read(&self, range: Range<usize>) -> Vec<u8> {
        let Held::Filed(path) = self else {
            return self.get(range).unwrap_or_default().to_vec();
        };
        let mut bytes = vec![0; range.len()];
        let read =
            File::open(path).and_then(|file| file.read_exact_at(&mut bytes, range.start as u64));
        read.map(|()| bytes).unwrap_or_default()
    }
}

/// The bytes; none of what is in its file alone.
impl Deref for Held {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Held::Mapped(Mapping(map)) => map,
            Held::Gathered(map, range) => &map[range.clone()],
            Held::Filed(_) => &[],
        }
    }
}

/// Puts the objects that are in their files alone behind one another, in a file of `directory` that
/// has no name, so that all of them can be read.
///
/// # Errors
///
/// Where one cannot be read or is not what it was, or the file cannot be written.
pub fn gather<'o>(objects: impl Iterator<Item = &'o mut Object>, directory: &Path) -> Result<()> {
    let mut filed: Vec<(&mut Object, PathBuf)> = objects
        .filter_map(|object| {
            let Held::Filed(path) = object.held() else { return None };
            let path = path.clone();
            Some((object, path))
        })
        .collect();
    if filed.is_empty() {
        return Ok(());
    }
    let output = || Error::output(directory);
    let mut file = tempfile::tempfile_in(directory).map_err(output())?;
    let mut ends = Vec::with_capacity(filed.len());
    let mut end = 0;
    for (_, path) in &filed {
        let mut source = File::open(path).map_err(Error::input(path))?;
        end += io::copy(&mut source, &mut file).map_err(output())?;
        ends.push(usize::try_from(end).map_err(|error| Error::Internal(error.to_string()))?);
    }
    file.flush().map_err(output())?;
    let map = Arc::new(Map::open(&file).map_err(output())?);
    let mut from = 0;
    for ((object, path), to) in filed.iter_mut().zip(ends) {
        if !object.take(Held::Gathered(Arc::clone(&map), from..to)) {
            let reason = "it is not what it was when it was checked; run again".into();
            return Err(Error::Damaged { path: std::mem::take(path), reason });
        }
        from = to;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use pinakes_format::entity::Entity;

    use super::*;
    use crate::compile::compile;
    use crate::compile::input;
    use crate::object::file::Raw;
    use crate::read::limits::ReadLimits;
    use crate::terminal::progress::Progress;

    /// All that linking reads of an object: keys, blobs and symbols of its outputs, and the lines
    /// that are kept.
    fn shown(object: &Object) -> String {
        let mut text = String::new();
        for segment in object.segments_of(Entity::Output) {
            for key in (0..segment.count()).filter_map(|at| segment.key(at)) {
                let hash = blake3::hash(segment.blob(&key).unwrap());
                text.push_str(&format!("{} {hash}\n", key.id));
            }
            text.push_str(&format!("{:?}\n", segment.symbols.get(0)));
        }
        for line in &object.report().bad_lines {
            text.push_str(&format!("{:?}\n", object.raw(line.raw)));
        }
        text
    }

    #[test]
    fn objects_beyond_a_bound_are_read_from_one_mapping() {
        let place = tempfile::tempdir().unwrap();
        let (input, objects) = (place.path().join("works"), place.path().join("objects"));
        fs::create_dir_all(&input).unwrap();
        for part in 0..9 {
            let id = |at: u64| part * 100 + at;
            let lines: String = (1..9)
                .map(|at| {
                    format!("{{\"id\":\"W{0}\",\"title\":\"Of {0}\",\"type\":\"a{0}\"}}\n", id(at))
                })
                .collect();
            fs::write(input.join(format!("{part}.jsonl")), lines + "no JSON\n").unwrap();
        }
        let parts = input::find(&[&input], Default::default()).unwrap().parts;
        let stage = compile(parts, &objects, &ReadLimits::default(), Progress::Quiet).unwrap();
        let expected: Vec<String> = stage.parts.iter().map(|part| shown(&part.object)).collect();
        assert!(expected.iter().all(|text| text.contains("Some(Symbol {")), "{}", expected[0]);

        let mut paths: Vec<PathBuf> =
            fs::read_dir(&objects).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        // None may be mapped beside those of the stage.
        let open = |path: &PathBuf| Object::open_within(path, 0).unwrap().unwrap();
        let mut all: Vec<Object> = paths.iter().map(open).collect();
        let bad = |object: &Object| -> Raw { object.report().bad_lines[0].raw };
        for object in &all {
            assert_eq!(object.segments_of(Entity::Output).count(), 0);
            assert_eq!(object.raw(bad(object)), b"no JSON");
        }
        gather(all.iter_mut(), place.path()).unwrap();
        let mut gathered: Vec<String> = all.iter().map(shown).collect();
        let mut expected = expected;
        gathered.sort();
        expected.sort();
        assert_eq!(gathered, expected);

        let mut changed = [open(&paths[0]), open(&paths[1])];
        fs::copy(&paths[2], &paths[1]).unwrap();
        let error = gather(changed.iter_mut(), place.path()).unwrap_err();
        assert_eq!(error.exit_code(), 5, "{error}");
    }
}
