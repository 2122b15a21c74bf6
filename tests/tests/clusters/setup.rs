//! A plan, directories of objects that stand for hosts, and the snapshot of a single run to compare with.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use pinakes_tests::compiler_run::*;
use pinakes_tests::skip;
use pinakes_tests::{compiler_with_hangups, files_below, program, real_sample, root, sample};
use serde_json::Value;

/// Every file of a snapshot with its bytes; among them the manifest with the root hash.
pub type SnapshotFiles = BTreeMap<String, Vec<u8>>;

/// A plan of some inputs.
pub struct Cluster {
    pub workspace: Workspace,
    pub inputs: Vec<PathBuf>,
    pub plan: PathBuf,
}

impl Cluster {
    /// Plans `units` units of the inputs.
    pub fn new(inputs: Vec<PathBuf>, units: u32) -> Cluster {
        let workspace = Workspace::new();
        let plan = workspace.0.path().join("plan.jsonl");
        let cluster = Cluster { workspace, inputs, plan };
        cluster.plan_again(units, &[]);
        cluster
    }

    /// Plans the sample dump with its side tables.
    pub fn of_sample(units: u32) -> Cluster {
        Cluster::new(vec![sample(), root().join("data/side")], units)
    }

    pub fn plan_again(&self, units: u32, more: &[&str]) {
        let units = units.to_string();
        let mut args = vec!["plan".as_ref()];
        args.extend(self.inputs.iter().map(|input| input.as_os_str()));
        args.extend(["--units".as_ref(), OsStr::new(&units), "--out".as_ref()]);
        args.push(self.plan.as_os_str());
        args.extend(more.iter().map(OsStr::new));
        let output = pinakes_tests::compiler(&args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// A directory below the workspace, as a host has its own.
    pub fn host(&self, name: &str) -> PathBuf {
        self.workspace.0.path().join(name)
    }

    /// The lines of the plan: what all units share, and then the units.
    pub fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.plan).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The file that a compiled unit leaves beside its objects.
    pub fn unit_file(&self, objects: &Path, unit: u32) -> PathBuf {
        let plan = self.lines()[0]["plan"].as_str().unwrap().to_owned();
        objects.join(format!("{plan}.{unit}.unit"))
    }

    /// The command that compiles a unit.
    pub fn command(&self, unit: u32, objects: &Path) -> Command {
        let mut command = compiler_with_hangups();
        command.args(["compile", "--quiet", "--unit", &unit.to_string(), "--plan"]);
        command.arg(&self.plan).arg("--objects").arg(objects);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Compiles a unit.
    pub fn compile(&self, unit: u32, objects: &Path) {
        succeed(self.command(unit, objects).spawn().unwrap());
    }

    /// Links the plan into `out`.
    pub fn link(&self, objects: &Path, out: &Path, more: &[&str]) -> Run {
        let mut args = vec!["link".as_ref(), "--plan".as_ref(), self.plan.as_os_str()];
        args.extend(["--objects".as_ref(), objects.as_os_str(), "--out".as_ref(), out.as_os_str()]);
        args.extend(more.iter().map(OsStr::new));
        run(&args)
    }

    /// Builds the inputs in a single run.
    pub fn build(&self, more: &[&str]) -> Run {
        let inputs: Vec<&Path> = self.inputs.iter().map(PathBuf::as_path).collect();
        build(&inputs, &self.host("single"), more)
    }

    /// The snapshot of a single run.
    pub fn expected(&self) -> SnapshotFiles {
        files_below(&published_path(&self.build(&[])))
    }

    /// Links the plan, and compares the snapshot with the one of a single run, byte for byte.
    pub fn assert_links_to(&self, expected: &SnapshotFiles, objects: &Path) {
        let out = tempfile::tempdir_in(self.workspace.0.path()).unwrap();
        let run = self.link(objects, &out.path().join("out"), &[]);
        assert!(files_below(&published_path(&run)) == *expected, "the snapshots differ");
    }
}

/// The real sample with its taxonomy, or a message that the test is skipped.
pub fn real_inputs(test: &str) -> Option<Vec<PathBuf>> {
    Some(real_sample(test)?.to_vec())
}

/// Waits for a run that must succeed.
#[track_caller]
pub fn succeed(run: Child) {
    let output = run.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Copies every file of one directory into another, as `rsync` does.
pub fn copy_into(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// The root hash in the manifest of a snapshot.
pub fn root_hash(snapshot: &Path) -> String {
    let text = fs::read(snapshot.join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&text).unwrap();
    manifest["root"].as_str().unwrap().to_owned()
}

/// A directory for `PATH` whose `pinakes-compiler` fails at the first try of unit 1 with an exit code, as if the
/// disk were full, and otherwise is the compiler. Every try adds a line to the file `tries`.
pub struct Flaky {
    directory: PathBuf,
}

impl Flaky {
    pub fn new(cluster: &Cluster, code: u8) -> Flaky {
        let directory = cluster.host("bin");
        fs::create_dir(&directory).unwrap();
        let text = format!(
            "#!/bin/sh\n\
             set -e\n\
             here=\"$(dirname \"$0\")\"\n\
             unit=${{SLURM_ARRAY_TASK_ID-}} last=\n\
             for word; do test \"$last\" != --unit || unit=$word; last=$word; done\n\
             echo \"$1 $unit\" >> \"$here/tries\"\n\
             if test \"$1 $unit\" = 'compile 1' && mkdir \"$here/failed\" 2> /dev/null; then exit {code}; fi\n\
             exec '{}' \"$@\"\n",
            program("pinakes-compiler").display()
        );
        let file = directory.join("pinakes-compiler");
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        Flaky { directory }
    }

    /// The value of `PATH`.
    pub fn path(&self) -> String {
        let path = std::env::var("PATH").unwrap();
        format!("{}:{path}", self.directory.display())
    }

    /// The tries, sorted: command and unit.
    pub fn tries(&self) -> Vec<String> {
        let text = fs::read_to_string(self.directory.join("tries")).unwrap();
        let mut tries: Vec<String> = text.lines().map(|line| line.trim().to_owned()).collect();
        tries.sort();
        tries
    }
}

/// A file of the examples.
pub fn example(name: &str) -> PathBuf {
    root().join("compiler/clusters").join(name)
}

/// Whether a program can be run; otherwise says that the test is skipped.
pub fn has_program(name: &str, test: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap();
    let mut places = std::env::split_paths(&paths).chain([PathBuf::from("/usr/sbin")]);
    let is_there = places.any(|place| place.join(name).is_file());
    if !is_there {
        skip(test, format!("no {name}; .ci/run installs it"));
    }
    is_there
}
