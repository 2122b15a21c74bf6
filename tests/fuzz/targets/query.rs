//! Target: the query strings of lists and of autocomplete.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pinakes_answer::Detail;
use pinakes_answer::parts::{
    DETAILS_MAX, ListRequest, TextError, parse_autocomplete_query, parse_list_query,
};
use pinakes_format::query::{EXPRESSIONS_MAX, PAGE_SIZES, SAMPLE_RECORDS_MAX, SORT_KEYS_MAX};
use pinakes_fuzz::entity_and_text;

/// Longest echo of a value, in bytes, with the ellipsis.
const SHOWN_BYTES_MAX: usize = 64 + '…'.len_utf8();

fuzz_target!(|bytes: &[u8]| {
    let Some((entity, text)) = entity_and_text(bytes) else { return };
    match parse_list_query(entity, text) {
        Ok(ListRequest { query, .. }) => {
            assert!(query.sample.is_none_or(|of| (1..=SAMPLE_RECORDS_MAX).contains(&of.records)));
            assert!(query.select.is_none_or(|members| !members.members().is_empty()));
            assert!(PAGE_SIZES.contains(&query.per_page));
            assert!(query.page.get() <= i32::MAX as u32);
            assert!(query.filter.len() <= EXPRESSIONS_MAX && query.sort.len() <= SORT_KEYS_MAX);
        }
        Err(details) => check(&details),
    }
    match parse_autocomplete_query(text) {
        Ok(text) => assert!(text.len() <= 256 && !text.trim().is_empty()),
        Err(TextError::Missing) => {}
        Err(TextError::Invalid(details)) => check(&details),
    }
});

fn check(details: &[Detail]) {
    assert!((1..=DETAILS_MAX).contains(&details.len()));
    for Detail { parameter, value, reason } in details {
        assert!(parameter.len() <= SHOWN_BYTES_MAX && value.len() <= SHOWN_BYTES_MAX);
        assert!(!reason.is_empty());
    }
}
