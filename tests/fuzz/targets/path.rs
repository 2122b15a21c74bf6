//! Paths: split, decoded, shown and looked up.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pinakes_server::parts::{Route, decode, echo, echo_path, find, segments};

/// Bytes of an id and of a path that are shown, with the mark of what was left out.
const ID_BYTES_MAX: usize = 64 + '…'.len_utf8();
const PATH_BYTES_MAX: usize = 256 + '…'.len_utf8();

fuzz_target!(|path: &str| {
    check_text(path);
    assert!(echo_path(path).len() <= PATH_BYTES_MAX);
    let Some(segments) = segments(path) else {
        assert!(find(path).is_none(), "a path without parts leads somewhere");
        return;
    };
    let joined = format!("/{}", segments.join("/"));
    assert!(joined == path || format!("{joined}/") == path, "{segments:?}");
    assert!(segments.iter().all(|segment| !segment.is_empty()));
    segments.iter().for_each(|segment| check_text(segment));
    if let Some(Route::Record(_, id)) = find(path) {
        assert_eq!(Some(&id.of(path)), segments.last());
    }
    let name = |path: &str| format!("{:?}", find(path));
    if !path.ends_with('/') {
        assert_eq!(name(path), name(&format!("{path}/")), "a slash at its end");
    }
});

/// A part of a path, or anything else that is percent-encoded.
fn check_text(text: &str) {
    assert!(echo(text).len() <= ID_BYTES_MAX);
    let Some(decoded) = decode(text) else { return };
    let encoded: String = decoded.bytes().map(|byte| format!("%{byte:02x}")).collect();
    assert_eq!(decode(&encoded).as_deref(), Some(&*decoded));
}
