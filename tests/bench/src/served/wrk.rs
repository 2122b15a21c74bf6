//! Drives a server with `wrk`, the load generator of the Debian package of that name.

use std::{fmt::Write as _, path::Path, process::Command};

use crate::Result;

/// Connections that ask concurrently.
pub const CONNECTIONS: u32 = 32;

/// What `wrk` measured.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub requests_per_second: f64,
    /// Milliseconds at the median and at the 99th percentile.
    pub p50: f64,
    pub p99: f64,
}

/// Whether `wrk` is installed.
pub fn is_installed() -> bool {
    Command::new("wrk").arg("--version").output().is_ok()
}

/// Asks for the paths in a random order, again and again, over 32 connections.
///
/// Fails if a reply has another status than 2xx.
pub fn run(address: &str, paths: &[String], seconds: u32, script: &Path) -> Result<Load> {
    let mut lua = String::from("local paths = {\n");
    for path in paths {
        writeln!(lua, "  {path:?},")?;
    }
    lua.push_str(
        "}\nlocal at = 0\nfunction init()\n  math.randomseed(os.time() + tonumber(tostring({}):match('0x(%x+)'), 16) % 65521)\n  \
         at = math.random(#paths)\nend\nfunction request()\n  at = at % #paths + 1\n  \
         return wrk.format('GET', paths[at])\nend\n",
    );
    std::fs::write(script, lua)?;
    let output = Command::new("wrk")
        .args(["--threads", "2", "--connections", &CONNECTIONS.to_string(), "--latency"])
        .args(["--duration", &format!("{seconds}s"), "--script"])
        .arg(script)
        .arg(format!("http://{address}/"))
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    if let Some(bad) = text.lines().find(|line| line.contains("Non-2xx") || line.contains("Socket"))
    {
        return Err(format!("wrk: {}", bad.trim()).into());
    }
    let after = |begin: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(begin));
        line.map(str::trim).ok_or_else(|| format!("wrk printed no `{begin}`: {text}"))
    };
    Ok(Load {
        requests_per_second: after("Requests/sec:")?.parse()?,
        p50: milliseconds(after("50%")?)?,
        p99: milliseconds(after("99%")?)?,
    })
}

/// Parses a time such as `812.00us`, `1.63ms` or `2.01s`.
fn milliseconds(text: &str) -> Result<f64> {
    for (unit, factor) in [("us", 1e-3), ("ms", 1.0), ("s", 1e3), ("m", 6e4)] {
        if let Some(number) = text.strip_suffix(unit) {
            return Ok(number.parse::<f64>()? * factor);
        }
    }
    Err(format!("wrk printed no time: {text}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_parsed_with_their_unit() {
        for (text, expected) in [("812.50us", 0.8125), ("1.63ms", 1.63), ("2.01s", 2_010.0)] {
            assert!((milliseconds(text).unwrap_or(-1.0) - expected).abs() < 1e-9, "{text}");
        }
        assert!(milliseconds("12").is_err());
    }
}
