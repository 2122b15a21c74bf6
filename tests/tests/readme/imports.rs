//! Folders import only what their headers and the map of the code say, and no files import each other in a circle.
#![allow(clippy::unwrap_used)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use pinakes_tests::root;

/// The crates whose folders the map lists.
const CRATES: [&str; 7] = [
    "format/src",
    "format/store/src",
    "format/arrow/src",
    "compiler/src",
    "server/answer/src",
    "server/src",
    "server/python/src",
];

/// The folders whose files must not import each other in a circle, each with the `src` that paths begin at.
const WITHOUT_CIRCLES: [(&str, &str); 2] = [("format/src", "query"), ("server/answer/src", "")];

/// The Rust files of a folder or of a single file, without modules of tests.
fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| entry.file_stem().is_none_or(|stem| stem != "tests"))
        .filter(|entry| entry.is_dir() || entry.extension().is_some_and(|of| of == "rs"))
        .flat_map(|entry| files(&entry))
        .collect();
    found.sort();
    found
}

/// The code of a file before its tests, without comments.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]\nmod").next().unwrap_or_default();
    let text = text.split("#[cfg(test)]\n#[allow").next().unwrap_or_default();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Adds the paths that a path or a tree of paths names: `a::{b, c::d}` names `a::b` and `a::c::d`. Returns the rest.
fn add_paths<'t>(text: &'t str, before: &[&'t str], found: &mut Vec<Vec<&'t str>>) -> &'t str {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            // A comma may stand before the end.
            rest = rest.trim_start_matches([',', ' ', '\n']);
            match rest.strip_prefix('}') {
                Some(rest) => return rest,
                None if rest.is_empty() => return rest,
                None => rest = add_paths(rest, before, found).trim_start(),
            }
        }
    }
    let end = text.find(|of: char| !of.is_alphanumeric() && !"_*".contains(of));
    let end = end.unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let path = [before, &[name]].concat();
    match rest.strip_prefix("::") {
        Some(rest) => add_paths(rest, &path, found),
        None => {
            found.push(path);
            rest
        }
    }
}

/// The files that a file imports by paths from `crate::`, out of `modules`: the last module of each path.
fn imported_files(path: &Path, modules: &BTreeMap<Vec<String>, PathBuf>) -> BTreeSet<PathBuf> {
    let code = code(path).replace("pub(in crate::", "pub(in ");
    let mut paths = Vec::new();
    for (_, text) in code.match_indices("crate::").map(|(at, root)| code.split_at(at + root.len()))
    {
        add_paths(text, &[], &mut paths);
    }
    let file_of = |path: Vec<&str>| {
        let path: Vec<String> = path.into_iter().map(str::to_owned).collect();
        (1..=path.len()).rev().find_map(|length| modules.get(&path[..length]).cloned())
    };
    let mut found: BTreeSet<PathBuf> = paths.into_iter().filter_map(file_of).collect();
    found.remove(path);
    found
}

/// The files below a folder that stand in a circle of imports.
fn in_circles(src: &Path, folder: &Path) -> Vec<PathBuf> {
    let module = |path: &PathBuf| {
        let path = path.strip_prefix(src).unwrap().with_extension("");
        let names = path.iter().map(|name| name.to_string_lossy().into_owned());
        names.filter(|name| name != "mod").collect::<Vec<_>>()
    };
    let modules: BTreeMap<_, _> =
        files(folder).into_iter().map(|path| (module(&path), path)).collect();
    let mut left: BTreeMap<PathBuf, BTreeSet<PathBuf>> =
        modules.values().map(|path| (path.clone(), imported_files(path, &modules))).collect();
    // Removes files that import nothing, and files that no other file imports, until none is left to remove. Circles remain,
    // and the files between two circles.
    loop {
        let imported: BTreeSet<PathBuf> = left.values().flatten().cloned().collect();
        let count = left.len();
        left.retain(|path, imports| !imports.is_empty() && imported.contains(path));
        let paths: BTreeSet<PathBuf> = left.keys().cloned().collect();
        left.values_mut().for_each(|imports| imports.retain(|path| paths.contains(path)));
        if left.len() == count {
            return left.into_keys().collect();
        }
    }
}

/// The folders and files beside a folder that it imports, by paths that begin with `root`.
fn imports(folder: &Path, root: &str) -> BTreeSet<String> {
    let own = folder.file_stem().unwrap().to_string_lossy().into_owned();
    let mut found = BTreeSet::new();
    for file in files(folder) {
        let code = code(&file);
        let mut rest = code.as_str();
        while let Some(at) = rest.find(root) {
            // In a macro, `$crate` is the crate of the macro.
            let is_part = |last: char| last.is_alphanumeric() || last == '_' || last == '$';
            let is_whole = !rest[..at].ends_with(is_part);
            rest = &rest[at + root.len()..];
            let names: Vec<&str> = match rest.strip_prefix('{') {
                Some(list) => list.split('}').next().unwrap().split(',').collect(),
                None => vec![rest],
            };
            for name in names.into_iter().filter(|_| is_whole) {
                let name = name.trim();
                let end = name.find(|of: char| !of.is_alphanumeric() && of != '_');
                found.insert(name[..end.unwrap_or(name.len())].to_owned());
            }
        }
    }
    found.remove(&own);
    // Macros and functions beside the folders are no folders.
    let beside = folder.parent().unwrap();
    found.retain(|name| beside.join(name).is_dir() || beside.join(format!("{name}.rs")).is_file());
    found
}

/// The names in backticks of the sentence that begins with `Imports` in a header.
fn stated(folder: &Path) -> Option<BTreeSet<String>> {
    let header = fs::read_to_string(folder.join("mod.rs")).unwrap();
    let lines = header.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let text = lines.collect::<Vec<_>>().join(" ");
    let (_, sentence) = text.split_once("Imports ")?;
    let sentence = sentence.split(". ").next().unwrap_or(sentence);
    if sentence.starts_with("no other folder") {
        return Some(BTreeSet::new());
    }
    let sentence = sentence.replace("link/{", "").replace('}', "").replace(", ", "`, `");
    let sentence = sentence.replace("``", "`");
    Some(sentence.split('`').skip(1).step_by(2).map(str::to_owned).collect())
}

/// The folders of a crate in the order of the map: a folder may import the ones before it.
fn order(crate_path: &str) -> BTreeMap<String, usize> {
    let map = fs::read_to_string(root().join("format/ARCHITECTURE.md")).unwrap();
    let (_, table) = map.split_once(&format!("| {crate_path} |")).expect("the map has the crate");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let mut order = BTreeMap::new();
    for (at, row) in rows.enumerate() {
        let names = row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2);
        for name in names {
            let name = name.trim_end_matches('/').trim_end_matches(".rs");
            order.insert(name.to_owned(), at);
        }
    }
    order
}

#[test]
fn folders_import_what_their_headers_and_the_map_say() {
    let mut wrong = Vec::new();
    for crate_path in CRATES {
        let src = root().join(crate_path);
        let order = order(crate_path);
        for (name, at) in &order {
            let folder = [src.join(name), src.join(format!("{name}.rs"))];
            let folder = folder.iter().find(|path| path.exists());
            let Some(folder) = folder else {
                wrong.push(format!("the map lists {crate_path}/{name}, which does not exist"));
                continue;
            };
            let found = imports(folder, "crate::");
            for import in &found {
                if order.get(import).is_none_or(|other| other > at) {
                    wrong.push(format!(
                        "{crate_path}/{name} imports {import}, which the map lists below"
                    ));
                }
            }
            if folder.is_dir() && stated(folder).as_ref() != Some(&found) {
                let names = found.iter().map(|of| format!("`{of}`")).collect::<Vec<_>>();
                let names =
                    if names.is_empty() { "no other folder".into() } else { names.join(", ") };
                wrong.push(format!(
                    "the header of {crate_path}/{name} should say: Imports {names}."
                ));
            }
        }
        for entry in fs::read_dir(&src).unwrap().map(|entry| entry.unwrap().path()) {
            let name = entry.file_stem().unwrap().to_string_lossy().into_owned();
            if entry.is_dir() && !order.contains_key(&name) {
                wrong.push(format!("the map lacks {crate_path}/{name}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn folders_of_the_linker_import_what_their_headers_say() {
    let link = root().join("compiler/src/link");
    let mut wrong = Vec::new();
    for folder in fs::read_dir(&link).unwrap().map(|entry| entry.unwrap().path()) {
        if !folder.is_dir() {
            continue;
        }
        let found = imports(&folder, "crate::link::");
        if stated(&folder).as_ref() != Some(&found) {
            let names = found.into_iter().collect::<Vec<_>>().join(", ");
            let name = folder.file_name().unwrap().to_string_lossy();
            wrong
                .push(format!("the header of link/{name} should say: Imports `link/{{{names}}}`."));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    for (src, folder) in WITHOUT_CIRCLES {
        let src = root().join(src);
        let found = in_circles(&src, &src.join(folder));
        assert!(found.is_empty(), "files in or between circles of imports: {found:#?}");
    }
}

#[test]
fn a_circle_of_three_files_is_found() {
    let src = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(src.path().join("a").join(name), text).unwrap();
    fs::create_dir_all(src.path().join("a/b")).unwrap();
    write("mod.rs", "pub use crate::a::{b::One, two::Two};");
    write("b/mod.rs", "use crate::a::three::Three;\npub(in crate::a) struct One;");
    write("two.rs", "fn two() -> crate::a::b::One {}");
    write("three.rs", "use std::fs;\n// crate::a::two\n");
    assert_eq!(in_circles(src.path(), &src.path().join("a")), Vec::<PathBuf>::new());
    write("three.rs", "use crate::a::{\n    four::{Four, five},\n    two::Two,\n};");
    write("four.rs", "");
    let found = in_circles(src.path(), &src.path().join("a"));
    let names = ["a/b/mod.rs", "a/three.rs", "a/two.rs"];
    assert_eq!(found, names.map(|name| src.path().join(name)));
}
