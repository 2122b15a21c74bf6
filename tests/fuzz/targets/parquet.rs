//! Target: Parquet files. A panic of the crate that decodes their pages costs the part, never the run.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| pinakes_fuzz::compile(&[("works.parquet", bytes)]));
