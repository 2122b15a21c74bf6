//! Seeds of hash maps. A request that slows its own browser down harms nobody else, so the seeds are constant.

#![allow(unsafe_code)]

/// Fills the seeds that `getrandom` is asked for.
///
/// # Safety
///
/// As `getrandom` promises its backends: `bytes` is valid for writes of `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(
    bytes: *mut u8,
    length: usize,
) -> Result<(), getrandom::Error> {
    // SAFETY: the caller promises it.
    unsafe { bytes.write_bytes(0x5a, length) };
    Ok(())
}
