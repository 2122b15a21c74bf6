//! Estimates the disk, the memory and the time that a link takes, from its objects.
//!
//! Measured with `--memory 2G` on two idle cores; only the first two rows have a full-text index:
//!
//! | records read | objects | snapshot | most disk at one time | time | processor time |
//! |--------------|---------|----------|-----------------------|------|----------------|
//! | 16,776, real | 30 MB | 20 MB | 25 MB | | |
//! | 200,000 outputs of a title and 100 words of abstract | 89 MB | 179 MB | 251 MB | | |
//! | 1,370,007, 1,000,000 of them outputs | 1,643 MB | 1,849 MB | 2,383 MB | 23 s | 36 s |
//! | 1,039,507, lean outputs | 456 MB | 626 MB | 909 MB | 14 s | 21 s |
//! | 5,079,707, lean outputs | 2,120 MB | 3,162 MB | 4,898 MB | 115 s | 143 s |
//! | 20,229,707, lean outputs | 8,407 MB | 12,881 MB | | 572 s | 767 s |
//!
//! The records go into the snapshot, and their number decides most of the indexes and of the temporary files.

use std::{path::Path, time::Duration};

use indicatif::HumanDuration;
use serde::Serialize;

use crate::object::Object;

/// Records that a link takes in a second on two idle cores: those of 1,000,000 generated outputs.
const RECORDS_PER_SECOND: f64 = 60e3;
/// Most disk for each byte of the objects, in percent, and for each record in bytes. Together they are a little
/// above the most that was measured.
const DISK_PERCENT: u64 = 155;
const DISK_BYTES_PER_RECORD: u64 = 600;

/// Expected disk, memory and time of a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkForecast {
    /// Bytes of all objects.
    pub object_bytes: u64,
    /// Lines and rows from which the objects were made.
    pub records: u64,
    /// Most bytes of the snapshot and of temporary files at one time.
    pub disk_bytes: u64,
    /// Free bytes where the snapshot is written; `null` if the system does not tell.
    pub free_bytes: Option<u64>,
    /// The limit of `--memory`. The system also keeps mapped objects in memory that is free.
    pub memory_bytes: u64,
    pub seconds: f64,
    /// The expected records per second.
    pub records_per_second: f64,
    /// Whether that is the speed of the last link that wrote the same report.
    pub is_from_last_link: bool,
}

impl LinkForecast {
    /// Estimates a link of objects into `directory`. `last_rate` is the speed of the last link, in
    /// records per second.
    pub fn new<'o>(
        objects: impl Iterator<Item = &'o Object>,
        directory: &Path,
        memory_bytes: u64,
        last_rate: Option<f64>,
    ) -> LinkForecast {
        let (mut object_bytes, mut records, mut copied) = (0, 0, 0);
        for object in objects {
            object_bytes += object.size_bytes();
            records += object.report().read.values().sum::<u64>();
            copied += if object.is_mapped() { 0 } else { object.size_bytes() };
        }
        let free = rustix::fs::statvfs(directory).ok();
        let records_per_second = last_rate.unwrap_or(RECORDS_PER_SECOND);
        LinkForecast {
            object_bytes,
            records,
            disk_bytes: object_bytes / 100 * DISK_PERCENT
                + records * DISK_BYTES_PER_RECORD
                + copied,
            free_bytes: free.map(|free| free.f_bavail.saturating_mul(free.f_frsize)),
            memory_bytes,
            seconds: records as f64 / records_per_second,
            records_per_second,
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
            "at most {} MB of disk ({free} MB are free) and {} MB of memory, about {}: {} records in {} MB \
             of objects at {:.0} records/s, {rate}",
            megabytes(self.disk_bytes),
            megabytes(self.memory_bytes),
            HumanDuration(Duration::try_from_secs_f64(self.seconds).unwrap_or(Duration::MAX)),
            self.records,
            megabytes(self.object_bytes),
            self.records_per_second,
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
            records: 3_700_000,
            disk_bytes: 3_700_000_001,
            free_bytes: Some(5_000_000_000),
            memory_bytes: 2 << 30,
            seconds: 37.0,
            records_per_second: 100e3,
            is_from_last_link: true,
        };
        assert_eq!(
            forecast.describe(),
            "at most 3701 MB of disk (5000 MB are free) and 2148 MB of memory, about 37 seconds: 3700000 \
             records in 3700 MB of objects at 100000 records/s, the speed of the last link with this report"
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
