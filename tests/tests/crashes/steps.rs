//! The system calls of a build that write, and runs with a fault at one of these calls.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

use pinakes_tests::program;

/// System calls that change files or directories.
const CALLS: &str = "openat,write,pwrite64,writev,copy_file_range,ftruncate,fsync,fdatasync,rename,\
                     renameat,renameat2,link,linkat,symlink,symlinkat,mkdir,mkdirat,unlink,unlinkat,\
                     chmod,fchmod,fchmodat";

/// A fault injected at a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The call kills the process.
    Kill,
    /// The call fails with `ENOSPC`: the disk is full.
    Full,
    /// The call fails with `EIO`: the disk is broken.
    Broken,
}

pub const FAULTS: [Fault; 3] = [Fault::Kill, Fault::Full, Fault::Broken];

/// A system call of a build.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// A call of the main thread, and its number among the calls of that name, from 1.
    Nth(String, usize),
    /// A call of another thread, and its path below the run's temporary directory.
    On(String, String),
}

/// Returns whether `strace` exists and may trace processes.
pub fn has_strace() -> bool {
    let traced = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).output();
    traced.is_ok_and(|output| output.status.success())
}

impl Step {
    pub fn call(&self) -> &str {
        match self {
            Step::Nth(call, _) | Step::On(call, _) => call,
        }
    }

    /// Runs a build with a fault at this call.
    pub fn build(&self, input: &Path, out: &Path, fault: Fault) -> Output {
        let what = match fault {
            Fault::Kill => "signal=KILL",
            Fault::Full => "error=ENOSPC",
            Fault::Broken => "error=EIO",
        };
        let (call, at, path) = match self {
            Step::Nth(call, at) => (call, *at, ""),
            Step::On(call, path) => (call, 1, path.as_str()),
        };
        let inject = format!("inject={call}:{what}:when={at}");
        // The shell becomes the traced process, so the script knows the process id beforehand.
        let script = "test -z \"$3\" || set -- \"$1\" \"$2\" \"-P$0/.tmp-$$/$3\" \"$4\" \"$5\"
            test -n \"$3\" || set -- \"$1\" \"$2\" -qq \"$4\" \"$5\"
            exec strace -D -f -qq -o /dev/null \"$3\" -e \"trace=$1\" -e \"$2\" \"$4\" build \"$5\" \
            --quiet --threads 1 --keep 1 --out \"$0\"";
        Command::new("sh")
            .args(["-c".as_ref(), script.as_ref(), out.as_os_str(), call.as_ref()])
            .args([&inject, path])
            .args([program("pinakes-compiler").as_path(), input])
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }
}

/// Traces a build and returns its calls below `out`, in order.
pub fn steps_of_a_build(input: &Path, out: &Path) -> Vec<Step> {
    let log = out.with_extension("trace");
    let traced = Command::new("strace")
        .args(["-f", "-y", "-qq", "-s", "0", "-o"])
        .arg(&log)
        .args(["-e", &format!("trace={CALLS}")])
        .arg(program("pinakes-compiler"))
        .args(["build".as_ref(), input.as_os_str(), "--quiet".as_ref(), "--threads".as_ref()])
        .args(["1", "--keep", "1", "--out"])
        .arg(out)
        .output()
        .unwrap();
    assert!(traced.status.success(), "{traced:?}");
    let log = fs::read_to_string(log).unwrap();
    let working = log.split_whitespace().next().unwrap();
    let scratch = format!("{}/.tmp-{working}/", out.display());
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found = BTreeSet::new();
    let mut steps = Vec::new();
    for line in log.lines() {
        let (thread, rest) = line.split_once(' ').unwrap();
        // strace splits a call that another thread interrupted; the first line has the arguments.
        let Some((call, arguments)) = rest.trim_start().split_once('(') else { continue };
        if rest.trim_start().starts_with("<...") {
            continue;
        }
        let is_below = arguments.contains(out.to_str().unwrap());
        let writes = call != "openat"
            || ["O_CREAT", "O_WRONLY", "O_RDWR"].iter().any(|flag| arguments.contains(flag));
        let step = if thread == working {
            let count = counts.entry(call).or_default();
            *count += 1;
            Step::Nth(call.to_owned(), *count)
        } else {
            let path = arguments.split_once(&scratch).and_then(|(_, path)| path.split_once('>'));
            let Some((path, _)) = path else { continue };
            Step::On(call.to_owned(), path.to_owned())
        };
        if is_below && writes && found.insert(step.clone()) {
            steps.push(step);
        }
    }
    steps
}
