//! The compiler as its users run it: deterministic bytes, complete accounting, and exit codes.
//!
//! Hostile inputs, and the tests that cover them:
//!
//! | hostile input | test |
//! |---------------|------|
//! | truncated or flipped gzip and zstd | `containers::a_damaged_container_ends_the_run_with_5` |
//! | truncated part with `--allow-truncated` | `containers::allow_truncated_keeps_the_complete_lines_of_a_truncated_part` |
//! | several gzip members, line endings, byte order marks | `containers::every_container_and_line_ending_gives_the_same_records` |
//! | bytes after the last gzip member | `containers::only_zeros_may_follow_the_last_gzip_member` |
//! | misnamed containers, missing checksums, large zstd windows | `containers::misleading_container_names_and_headers_cause_a_warning_or_a_refusal` |
//! | decompression bombs | `containers::a_decompression_bomb_needs_no_more_memory_than_the_longest_line` |
//! | UTF-16 | `containers::utf16_input_ends_the_run_with_5` |
//! | very long lines | `lines::a_line_of_17_megabytes_is_set_aside_and_the_next_is_read` |
//! | empty inputs | `inputs::an_entity_without_a_record_in_its_inputs_ends_the_run_with_4` |
//! | unreadable, missing and unknown inputs | `inputs::unreadable_inputs_…`, `missing_or_unknown_inputs_…` |
//! | inputs without read permission | `inputs::an_input_without_read_permission_ends_the_run_with_3` |
//! | parts that change or vanish during the run | `inputs::a_part_that_changes_during_the_run_…` |
//! | file names that are not UTF-8 | `inputs::file_names_that_are_not_utf8_are_read_and_printed_on_one_line` |
//! | invalid UTF-8, duplicate keys, invalid ids, wrong types of records | `lines::every_bad_record_is_listed_…` |
//! | lines that are not JSON | `lines::lines_that_are_not_json_are_set_aside` |
//! | wrong types, and numbers out of range, in optional members | `lines::a_bad_optional_member_becomes_null_…` |
//! | deep nesting | `lines::a_deeply_nested_line_is_set_aside_in_any_member` |
//! | ids in several spellings | `lines::every_spelling_of_an_id_is_one_record` |
//! | records without a name | `lines::every_record_but_an_output_needs_a_name` |
//! | copies of a record with equal, different or invalid dates | `lines::compile_keeps_the_newest_copy_…` |
//! | too many bad records | `lines::more_bad_records_than_allowed_…`, `output::a_run_within_the_budget_…` |
//! | dangling and cyclic references | `large::dangling_and_cyclic_references_are_kept` |
//! | very large members | `large::members_are_kept_whole_unless_an_option_bounds_them`, `a_work_of_a_million_authors_…` |
//! | degenerate and equal names | `large::names_that_are_hardly_names_are_kept_and_stay_distinct` |
//! | topics without a parent | `taxonomy::a_topic_whose_parent_has_no_name_…`, `more_than_1_percent_of_topics_…` |
//! | merged ids in chains and cycles, and lists larger than memory | `taxonomy::merged_ids_resolve_chains_and_drop_cycles`, `large::merged_ids_take_the_same_memory_…` |
//! | deleted ids, unknown ones, and lists larger than memory | all tests of `deleted` |
//! | malformed rows of a table | `taxonomy::an_invalid_row_affects_no_other_row`, and unit tests of the compiler |
//! | manifests with wrong entries | all tests of `manifests` |
//! | a loss of records | `output::a_loss_of_one_in_five_records_ends_the_run_with_4` |
//! | full disks and file size limits | `output::a_full_disk_…`, `output::a_file_size_limit_…` |
//! | failing system calls and killed runs | all tests of `crashes`; `output::a_run_removes_the_leftovers_of_a_killed_run` |
//! | interrupted runs | `output::an_interrupted_run_ends_with_its_signal_and_leaves_the_old_snapshot` |
//! | concurrent runs | `output::an_output_locked_by_another_run_…`, all tests of `shared_objects` |
//! | little address space | `output::little_address_space_…` |
//! | output directories that other users can redirect | `output::an_output_that_other_users_can_redirect_…` |
//! | clocks, time zones, locales, umasks and home directories | `output::clock_zone_locale_umask_and_home_…` |
//! | threads, input order and directories | `same_bytes::a_snapshot_has_the_same_bytes_for_any_threads_…` |
//! | many input files | `output::many_files_take_few_descriptors` |

mod accounting;
mod containers;
mod copied_records;
mod deleted;
mod inputs;
mod keep;
mod large;
mod lines;
mod manifests;
mod mapping;
mod output;
mod reports;
mod same_bytes;
mod shared_objects;
mod snapshot_paths;
mod taxonomy;
