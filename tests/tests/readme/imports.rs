//! Folders import only what their headers and the map of the code say.
#![allow(clippy::unwrap_used)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use pinakes_tests::root;

/// The crates whose folders the map lists.
const CRATES: [&str; 5] = ["format/src", "format/store/src", "compiler/src", "server/answer/src", "server/src"];
/// The folders whose files import each other in one direction.
const WITHOUT_CIRCLES: [&str; 1] = ["server/answer/src"];

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

/// The files of a folder by the path that code names them by, such as `list::page`; a folder's `mod.rs` by the name of the folder.
fn modules(folder: &Path) -> BTreeMap<String, PathBuf> {
    let path_of = |file: &Path| {
        let below = file.strip_prefix(folder).unwrap().with_extension("");
        let names = below.iter().map(|name| name.to_string_lossy().into_owned());
        names.filter(|name| name != "mod" && name != "lib").collect::<Vec<_>>().join("::")
    };
    files(folder).into_iter().map(|file| (path_of(&file), file)).collect()
}

/// The paths that code names after `crate::`, also those in braces.
fn named_paths(code: &str) -> Vec<String> {
    fn read(code: &str, prefix: &str, found: &mut Vec<String>) -> usize {
        let is_path = |of: char| of.is_alphanumeric() || of == '_' || of == ':';
        let end = code.find(|of: char| !is_path(of)).unwrap_or(code.len());
        let path = format!("{prefix}{}", &code[..end]);
        if !code[end..].starts_with('{') {
            found.push(path);
            return end;
        }
        let mut at = end + 1;
        loop {
            at += code[at..].find(|of: char| !of.is_whitespace() && of != ',').unwrap();
            if code[at..].starts_with('}') {
                return at + 1;
            }
            // At least one character, such as that of `*`.
            at += read(&code[at..], &path, found).max(1);
        }
    }
    let mut found = Vec::new();
    let begins = code.match_indices("crate::").filter(|(at, _)| !code[..*at].ends_with('$'));
    for (at, begin) in begins {
        read(&code[at + begin.len()..], "", &mut found);
    }
    found
}

/// The modules that a module imports, or whose items it names as a child's.
fn imported(name: &str, file: &Path, known: &BTreeMap<String, PathBuf>) -> BTreeSet<String> {
    let code = code(file);
    let mut paths = named_paths(&code);
    for child in known.keys() {
        let own = child.strip_prefix(name).map(|rest| rest.strip_prefix("::").unwrap_or(rest));
        let own = own.filter(|own| !own.is_empty() && !own.contains("::"));
        let is_child =
            own.is_some() && (name.is_empty() || child.starts_with(&format!("{name}::")));
        if let Some(own) = own.filter(|_| is_child)
            && code.match_indices(&format!("{own}::")).any(|(at, _)| {
                !code[..at].ends_with(|of: char| of.is_alphanumeric() || of == '_' || of == ':')
            })
        {
            paths.push(child.clone());
        }
    }
    let module_of = |path: &String| {
        let mut path = path.trim_end_matches(':');
        loop {
            if known.contains_key(path) {
                return Some(path.to_owned());
            }
            path = path.rsplit_once("::")?.0;
        }
    };
    paths.iter().filter_map(module_of).filter(|found| found != name).collect()
}

#[test]
fn files_import_each_other_in_one_direction() {
    for folder in WITHOUT_CIRCLES {
        let modules = modules(&root().join(folder));
        let mut left: BTreeMap<String, BTreeSet<String>> = modules
            .iter()
            .map(|(name, file)| (name.clone(), imported(name, file, &modules)))
            .collect();
        assert!(left.len() > 20, "{folder}");
        // Takes away the modules that import nothing that is left; those of a circle, and above one, stay.
        loop {
            let names: BTreeSet<String> = left.keys().cloned().collect();
            let before = left.len();
            left.retain(|_, imports| !imports.is_disjoint(&names));
            if left.len() == before {
                break;
            }
        }
        // And those that nothing imports, so that the circles alone are left.
        loop {
            let needed: BTreeSet<String> = left.values().flatten().cloned().collect();
            let before = left.len();
            left.retain(|name, _| needed.contains(name));
            if left.len() == before {
                break;
            }
        }
        let names: BTreeSet<String> = left.keys().cloned().collect();
        left.values_mut().for_each(|imports| imports.retain(|name| names.contains(name)));
        assert!(left.is_empty(), "files of {folder} import each other: {left:#?}");
    }
}
