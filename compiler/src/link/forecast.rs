//! Estimates the disk, the memory and the time that a link takes, from the bytes of its objects.
//!
//! Measured with `--memory 2G`:
//!
//! | inputs | objects | snapshot | most disk at one time | processor time |
//! |--------|---------|----------|-----------------------|----------------|
//! | 16,069 real outputs, 9,574 records | 45 MB | 28 MB | 33 MB | |
//! | 20,200 generated outputs, 31,922 records | 74 MB | 62 MB | 71 MB | |
//! | 1,000,000 generated outputs, 1,370,007 records | 2,551 MB | 2,751 MB | 2,751 MB | 39 s |
//! | 1,000,000 lean outputs | 932 MB | 1,116 MB | 1,116 MB | 23 s |
//! | 5,000,000 lean outputs | 4,457 MB | 5,555 MB | 5,555 MB | 166 s |
//!
//! So the snapshot and the temporary files together take at most 1.25 times the disk of the objects.

use std::{path::Path, time::Duration};

use indicatif::HumanDuration;
use serde::Serialize;

use crate::object::Object;

/// Bytes of objects that a link reads in a second on two idle cores, at nine tenths of their time: those of
/// 1,000,000 generated outputs.
const BYTES_PER_SECOND: f64 = 118e6;
/// Most disk for each byte of the objects, in percent: a little above the most that was measured.
const DISK_PERCENT: u64 = 130;

/// Expected disk, memory and time of a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkForecast {
    /// Bytes of all objects.
    pub object_bytes: u64,
    /// Most bytes of the snapshot and of temporary files at one time.
    pub disk_bytes: u64,
    /// Free bytes where the snapshot is written; `null` if the system does not tell.
    pub free_bytes: Option<u64>,
    /// The limit of `--memory`. The system also keeps mapped objects in memory that is free.
    pub memory_bytes: u64,
    pub seconds: f64,
    /// The expected bytes of objects per second.
    pub bytes_per_second: f64,
    /// Whether that is the speed of the last link that wrote the same report.
    pub is_from_last_link: bool,
}

impl LinkForecast {
    /// Estimates a link of objects into `directory`. `last_rate` is the speed of the last link, in bytes of
    /// objects per second.
    pub fn new<'o>(
        objects: impl Iterator<Item = &'o Object>,
        directory: &Path,
        memory_bytes: u64,
        last_rate: Option<f64>,
    ) -> LinkForecast {
        let (mut object_bytes, mut copied) = (0, 0);
        for object in objects {
            object_bytes += object.size_bytes();
            copied += if object.is_mapped() { 0 } else { object.size_bytes() };
        }
        let free = rustix::fs::statvfs(directory).ok();
        let bytes_per_second = last_rate.unwrap_or(BYTES_PER_SECOND);
        LinkForecast {
            object_bytes,
            disk_bytes: object_bytes / 100 * DISK_PERCENT + copied,
            free_bytes: free.map(|free| free.f_bavail.saturating_mul(free.f_frsize)),
            memory_bytes,
            seconds: object_bytes as f64 / bytes_per_second,
            bytes_per_second,
            is_from_last_link: last_rate.is_some(),
        }
    }

    /// Formats the forecast in one line.
    pub fn describe(&self) -> String {
        let megabytes = |bytes: u64| bytes.div_ceil(1_000_000);
        let free = self
            .free_bytes
            .map_or("an unknown number of".into(), |free| megabytes(free).to_string());
        let rate = match self.is_from_last_link {
            true => "the speed of the last link with this report",
            false => "the speed of two idle cores; `--report` remembers that of this machine",
        };
        format!(
            "at most {} MB of disk ({free} MB are free) and {} MB of memory, about {}: {} MB of objects at \
             {:.0} MB/s, {rate}",
            megabytes(self.disk_bytes),
            megabytes(self.memory_bytes),
            HumanDuration(Duration::try_from_secs_f64(self.seconds).unwrap_or(Duration::MAX)),
            megabytes(self.object_bytes),
            self.bytes_per_second / 1e6,
        )
    }

    /// The warning if less disk is free than the link may take.
    pub fn warning(&self) -> Option<String> {
        let free = self.free_bytes.filter(|free| *free < self.disk_bytes)?;
        Some(format!(
            "the link may take {} bytes of disk, and {free} are free; if it ends with exit code 6, make room",
            self.disk_bytes
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forecast_names_disk_memory_time_and_where_its_speed_comes_from() {
        let forecast = LinkForecast {
            object_bytes: 3_700_000_000,
            disk_bytes: 3_700_000_001,
            free_bytes: Some(5_000_000_000),
            memory_bytes: 2 << 30,
            seconds: 37.0,
            bytes_per_second: 100e6,
            is_from_last_link: true,
        };
        assert_eq!(
            forecast.describe(),
            "at most 3701 MB of disk (5000 MB are free) and 2148 MB of memory, about 37 seconds: 3700 MB of \
             objects at 100 MB/s, the speed of the last link with this report"
        );
        assert_eq!(forecast.warning(), None);
        let full = LinkForecast { free_bytes: Some(10), is_from_last_link: false, ..forecast };
        let warning = "the link may take 3700000001 bytes of disk, and 10 are free; if it ends with exit code 6, \
                       make room";
        assert_eq!(full.warning().as_deref(), Some(warning));
        assert!(
            full.describe().ends_with(
                "the speed of two idle cores; `--report` remembers that of this machine"
            )
        );
    }
}
