//! Cold requests. Each goes to an empty mirror of its own, and the complete snapshot must give the same answer.

use std::{collections::BTreeMap, thread, time::Instant};

use pinakes_tests::slow_link::LinkCounts;

use crate::{
    Result,
    mirror::publication::Published,
    serve::{Client, Server},
    served::workloads::Workload,
};

/// The cost of a request, on average and at most.
#[derive(Clone, Copy, Default)]
pub struct Cost {
    mean: Counts,
    most: Counts,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    rounds: f64,
    requests: f64,
    kib: f64,
    milliseconds: f64,
}

/// Files of a line that says where the bytes lie.
const FILES_SHOWN: usize = 8;

/// Measures `count` requests of each workload, and prints their costs.
pub fn run(
    published: &Published,
    workloads: &[Workload],
    count: usize,
) -> Result<Vec<(&'static str, Cost)>> {
    println!(
        "each of {count} requests of a kind on an empty mirror of its own; on average (at most), and KiB by file\n\
         {:<26} {:>12} {:>14} {:>16} {:>16}",
        "request", "rounds", "requests", "KiB", "ms"
    );
    let complete = Server::pinakes(&published.snapshots)?;
    let mut starts = Vec::new();
    let mut costs = Vec::new();
    for workload in workloads {
        let (mut counts, mut by_file) = (Vec::new(), BTreeMap::new());
        for path in &workload.paths[..count] {
            let link = published.slow_link();
            published.host.take_sent_bytes();
            let begun = Instant::now();
            let mirror = published.empty_mirror(&link.url(), &[])?;
            starts.push(Counts::new(link.take_counts(), begun));
            published.host.take_sent_bytes();
            let mut client = Client::connect(&mirror.address)?;
            let begun = Instant::now();
            let reply = client.get(path)?;
            counts.push(Counts::new(link.take_counts(), begun));
            if reply != Client::connect(&complete.address)?.get(path)? {
                return Err(format!("GET {path}: the mirror gives another answer").into());
            }
            add_files(published, &mut by_file);
        }
        let cost = Cost::new(&counts);
        print_cost(workload.name, &cost);
        print_files(by_file, count);
        costs.push((workload.name, cost));
    }
    let start = Cost::new(&starts);
    print_cost("start", &start);
    costs.push(("start", start));
    Ok(costs)
}

/// Sends 32 different requests at once to an empty mirror, four of each workload, and prints their cost.
pub fn run_together(published: &Published, workloads: &[Workload]) -> Result<()> {
    let complete = Server::pinakes(&published.snapshots)?;
    let paths = workloads.iter().flat_map(|workload| workload.paths.iter().take(4)).take(32);
    let link = published.slow_link();
    let mirror = published.empty_mirror(&link.url(), &[])?;
    link.take_counts();
    let begun = Instant::now();
    let replies: Vec<Result<(Vec<u8>, f64)>> = thread::scope(|scope| {
        let ask = |path: &str| -> Result<_> {
            let reply = Client::connect(&mirror.address)?.get(path)?.to_vec();
            Ok((reply, begun.elapsed().as_secs_f64()))
        };
        let asked: Vec<_> = paths.clone().map(|path| scope.spawn(move || ask(path))).collect();
        let panicked = |_| Err("a client panicked".into());
        asked.into_iter().map(|asked| asked.join().unwrap_or_else(panicked)).collect()
    });
    let counts = link.take_counts();
    published.host.take_sent_bytes();
    let mut seconds = Vec::new();
    for (path, reply) in paths.zip(replies) {
        let (reply, after) = reply?;
        if reply != Client::connect(&complete.address)?.get(path)? {
            return Err(format!("GET {path}: the mirror gives another answer").into());
        }
        seconds.push(after);
    }
    seconds.sort_by(f64::total_cmp);
    println!(
        "{} requests at once: {} rounds, {:.0} KiB, all right; the median after {:.1} s, the last after {:.1} s",
        seconds.len(),
        counts.rounds,
        counts.bytes as f64 / 1024.0,
        seconds[seconds.len() / 2],
        seconds[seconds.len() - 1]
    );
    Ok(())
}

/// Prints how the costs grow with the size of the snapshot.
pub fn print_growth(sizes: &[u64], costs: &[Vec<(&str, Cost)>]) {
    let [.., largest] = sizes else { return };
    println!("\nKiB and rounds on average by size; the ratio is of KiB, {largest} to {}", sizes[0]);
    for (at, (name, first)) in costs[0].iter().enumerate() {
        let mut line = format!("{name:<26}");
        for (_, cost) in costs.iter().map(|costs| costs[at]) {
            line += &format!(" {:>8.0} {:>5.1}", cost.mean.kib, cost.mean.rounds);
        }
        let last = costs.last().map_or(*first, |costs| costs[at].1);
        println!("{line} {:>7.2}", last.mean.kib / first.mean.kib);
    }
}

/// Adds the bytes that the host sent, by the name of their file.
fn add_files(published: &Published, by_file: &mut BTreeMap<String, u64>) {
    for asked in published.host.asked() {
        let name: Vec<&str> = asked.path.split('/').skip(2).collect();
        let bytes = asked.range.map_or(0, |(from, to)| to + 1 - from);
        *by_file.entry(name.join("/")).or_default() += bytes as u64;
    }
}

fn print_files(by_file: BTreeMap<String, u64>, count: usize) {
    let mut files: Vec<_> = by_file.into_iter().collect();
    files.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let shown = files
        .iter()
        .take(FILES_SHOWN)
        .map(|(name, bytes)| format!("{name} {:.0}", *bytes as f64 / 1024.0 / count as f64));
    println!("    {}", shown.collect::<Vec<_>>().join(", "));
}

fn print_cost(name: &str, cost: &Cost) {
    let of = |of: fn(&Counts) -> f64, digits: usize| {
        format!("{:.digits$} ({:.0})", of(&cost.mean), of(&cost.most))
    };
    println!(
        "{name:<26} {:>12} {:>14} {:>16} {:>16}",
        of(|counts| counts.rounds, 1),
        of(|counts| counts.requests, 1),
        of(|counts| counts.kib, 0),
        of(|counts| counts.milliseconds, 0)
    );
}

impl Counts {
    fn new(counts: LinkCounts, begun: Instant) -> Counts {
        Counts {
            rounds: counts.rounds as f64,
            requests: counts.requests as f64,
            kib: counts.bytes as f64 / 1024.0,
            milliseconds: begun.elapsed().as_secs_f64() * 1e3,
        }
    }

    fn join(self, other: Counts, of: fn(f64, f64) -> f64) -> Counts {
        Counts {
            rounds: of(self.rounds, other.rounds),
            requests: of(self.requests, other.requests),
            kib: of(self.kib, other.kib),
            milliseconds: of(self.milliseconds, other.milliseconds),
        }
    }
}

impl Cost {
    fn new(counts: &[Counts]) -> Cost {
        let most = counts.iter().fold(Counts::default(), |most, of| most.join(*of, f64::max));
        let sum = counts.iter().fold(Counts::default(), |sum, of| sum.join(*of, |a, b| a + b));
        let of = counts.len() as f64;
        let number = Counts { rounds: of, requests: of, kib: of, milliseconds: of };
        Cost { mean: sum.join(number, |sum, of| sum / of), most }
    }
}
