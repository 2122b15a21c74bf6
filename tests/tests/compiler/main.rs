//! The compiler as its users run it: the same bytes every time, an accounting that closes, and
//! bad input that ends in the exit code promised with nothing published.
//!
//! Which test holds which row of the table of hostile inputs, C1 to C64:
//!
//! | rows | test |
//! |------|------|
//! | 1 to 3, 7 | `containers::a_damaged_container_ends_the_run_with_5`; salvage `a_cut_part_gives_its_whole_lines_…` |
//! | 4, 6, 10, 15, 17 | `containers::lines_are_read_whatever_holds_and_ends_them`, `every_member_of_a_gzip_file_…` |
//! | 5 | `containers::what_comes_after_gzip_members_is_zeros_or_damage` |
//! | 6, 8 to 10 | `containers::containers_that_are_not_what_they_seem_are_warned_of_or_refused` |
//! | 11 | `containers::a_bomb_takes_no_more_memory_than_a_line_may_have` |
//! | 12 | `lines::a_line_of_17_megabytes_is_set_aside_and_the_next_is_read` |
//! | 13 | `inputs::an_entity_whose_inputs_are_all_empty_ends_the_run_with_4` |
//! | 14 | `inputs::an_input_that_may_not_be_read_ends_the_run_with_3` |
//! | 14, 25 | `inputs::inputs_that_cannot_be_read_…`, `inputs_that_are_missing_or_unknown_…` |
//! | 14, 51 | `inputs::a_part_that_changes_or_goes_while_it_is_read_ends_the_run_with_5_or_3` |
//! | 16 | `containers::what_is_not_utf8_by_its_looks_ends_the_run_with_5` |
//! | 15, 18 to 20, 22 to 24, 26 to 28, 30 | `lines::every_bad_record_is_listed_with_its_place_and_code_…` |
//! | 17, 23, 26 | `lines::lines_that_are_no_records_are_set_aside` |
//! | 20, 42 to 45 | `lines::a_bad_optional_member_becomes_null_and_never_costs_its_record` |
//! | 21 | `lines::a_line_nested_deeply_is_set_aside_whatever_of_it_is_read` |
//! | 29 | `lines::every_spelling_of_an_id_is_one_record` |
//! | 31 | `lines::a_name_is_demanded_of_every_record_but_an_output` |
//! | 32 to 35 | `lines::of_copies_the_newest_stands_and_of_equal_dates_the_greater_hash` |
//! | 36, 37 | `large::references_that_dangle_or_lead_in_circles_are_kept` |
//! | 38 | `taxonomy::a_topic_whose_parent_no_source_names_…`, `more_than_a_hundredth_of_topics_…` |
//! | 39, 40 | `taxonomy::ids_merged_in_chains_and_circles_lead_to_their_end_or_nowhere` |
//! | 46 | `large::what_fits_a_line_is_kept_whole_…`, `a_work_of_a_million_authors_is_kept_whole_within_memory` |
//! | 47, 48 | `large::names_that_are_hardly_names_are_kept_and_found_apart` |
//! | 49 | `taxonomy::a_row_that_is_none_costs_itself_alone`, and the compiler's `rows` |
//! | 50 | all of `manifests` |
//! | 52 | `output::bad_records_within_the_budget_…`, `lines::more_bad_records_than_allowed_…` |
//! | 53 | `output::a_fifth_fewer_records_than_before_end_the_run_with_4` |
//! | 54 | `output::a_full_disk_…`, `output::no_file_larger_than_allowed_…` |
//! | 55, 57 | all of the tests `crashes`; `output::what_a_killed_run_left_is_removed_by_the_next` |
//! | 56 | `output::an_interrupted_run_ends_with_its_signal_and_leaves_the_old_snapshot` |
//! | 58 | `output::an_output_held_by_another_run_ends_the_run_with_7_and_names_its_process` |
//! | 59 | `output::little_address_space_ends_the_run_well_or_with_an_error_and_never_half` |
//! | 60 | `output::an_output_that_others_may_lead_elsewhere_ends_the_run_with_2` |
//! | 61 | `output::clock_zone_locale_umask_and_home_change_no_byte_and_no_mode` |
//! | 62 | `same_bytes::a_snapshot_is_the_same_bytes_for_any_threads_order_and_place` |
//! | 63 | `output::many_files_take_few_descriptors` |
//! | 64 | `inputs::names_of_any_bytes_are_read_and_shown_on_one_line` |
//!
//! Row 41, lists of deleted ids, has no test: the compiler knows no such input.

#![allow(clippy::unwrap_used, missing_docs)]

mod accounting;
mod containers;
mod inputs;
mod keep;
mod large;
mod lines;
mod manifests;
mod mapping;
mod output;
mod reports;
mod same_bytes;
mod taxonomy;
