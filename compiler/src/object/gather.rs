//! Maps objects beyond the limit of mappings together.

use std::fs::File;
use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pinakes_format::storage::mmap::Map;

use crate::error::{Error, Result};
use crate::object::bytes::ObjectBytes;
use crate::object::file::Object;

/// Copies all unmapped objects into one unnamed file of `directory` and maps that file.
///
/// Fails if an object's bytes have changed since the object was opened.
pub fn gather<'o>(objects: impl Iterator<Item = &'o mut Object>, directory: &Path) -> Result<()> {
    let mut unmapped: Vec<(&mut Object, PathBuf)> = objects
        .filter_map(|object| {
            let ObjectBytes::InFile(path) = object.bytes() else { return None };
            let path = path.clone();
            Some((object, path))
        })
        .collect();
    if unmapped.is_empty() {
        return Ok(());
    }
    let output = || Error::output(directory);
    // The system removes a file without a name when the run ends, also when the run is killed.
    let mut file = tempfile::tempfile_in(directory).map_err(output())?;
    let mut ends = Vec::with_capacity(unmapped.len());
    let mut end = 0;
    for (_, path) in &unmapped {
        let mut source = File::open(path).map_err(Error::input(path))?;
        end += io::copy(&mut source, &mut file).map_err(output())?;
        ends.push(usize::try_from(end).map_err(|error| Error::Internal(error.to_string()))?);
    }
    file.flush().map_err(output())?;
    let map = Arc::new(Map::open(&file).map_err(output())?);
    let mut from = 0;
    // The check of an object and this copy are two reads: the bytes are verified again.
    for ((object, path), to) in unmapped.iter_mut().zip(ends) {
        if !object.replace_bytes(ObjectBytes::Gathered(Arc::clone(&map), from..to)) {
            let reason = "it changed after it was checked; run again".into();
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
    use crate::object::ObjectStore;
    use crate::object::file::Check;
    use crate::object::part_report::Raw;
    use crate::read::limits::ReadLimits;
    use crate::terminal::progress::Progress;

    /// Prints the facts that the link reads from an object: keys, blobs and symbols of its outputs, and
    /// the kept lines.
    fn shown(object: &Object) -> String {
        let mut text = String::new();
        for segment in object.segments_of(Entity::Output) {
            for key in (0..segment.count()).filter_map(|at| segment.key(at)) {
                let hash = blake3::hash(segment.blob(&key.place()).unwrap());
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
    fn objects_beyond_the_mapping_limit_are_read_from_one_mapping() {
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
        let stage = compile(
            parts,
            &ObjectStore::local(&objects),
            &ReadLimits::default(),
            Check::Whole,
            Progress::Quiet,
        )
        .unwrap();
        let expected: Vec<String> = stage.parts.iter().map(|part| shown(&part.object)).collect();
        assert!(expected.iter().all(|text| text.contains("Some(Symbol {")), "{}", expected[0]);

        let mut paths: Vec<PathBuf> =
            fs::read_dir(&objects).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        // With a limit of 0 no object is mapped.
        let open = |path: &PathBuf| Object::open_within(path, Check::Whole, 0).unwrap().unwrap();
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
