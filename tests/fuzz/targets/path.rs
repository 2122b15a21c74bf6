//! Target: request paths, which are split, decoded, echoed and routed.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pinakes_answer::parts::{decode, echo, segments};
use pinakes_answer::{echo_path, find};

// Longest echo of an id and of a path, in bytes, with the ellipsis.
const ID_BYTES_MAX: usize = 64 + '…'.len_utf8();
const PATH_BYTES_MAX: usize = 256 + '…'.len_utf8();

fuzz_target!(|path: &str| {
    check_text(path);
    assert!(echo_path(path).len() <= PATH_BYTES_MAX);
    let Some(segments) = segments(path) else {
        // Only an identifier of another system may contain any number of slashes.
        let is_identifier = |text: &str| text.contains('/');
        let found = find(path).map(|found| found.segment.text_in(path));
        assert!(found.is_none_or(is_identifier), "a path without segments has a route");
        return;
    };
    let joined = format!("/{}", segments.join("/"));
    assert!(joined == path || format!("{joined}/") == path, "{segments:?}");
    assert!(segments.iter().all(|segment| !segment.is_empty()));
    segments.iter().for_each(|segment| check_text(segment));
    let name = |path: &str| find(path).map(|found| found.route.number());
    if let Some(found) = find(path).filter(|found| found.route.path.path.ends_with("/{id}")) {
        let id = found.segment.text_in(path);
        assert!(Some(&id) == segments.last() || id.contains('/'));
    }
    if !path.ends_with('/') {
        assert_eq!(name(path), name(&format!("{path}/")), "a final slash changes the route");
    }
});

/// Checks echoing and percent-decoding of a text.
fn check_text(text: &str) {
    assert!(echo(text).len() <= ID_BYTES_MAX);
    let Some(decoded) = decode(text) else { return };
    let encoded: String = decoded.bytes().map(|byte| format!("%{byte:02x}")).collect();
    assert_eq!(decode(&encoded).as_deref(), Some(&*decoded));
}
