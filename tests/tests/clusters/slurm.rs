//! A Slurm of one host that runs the array and the link. `.ci/run` installs it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use pinakes_tests::files_below;
use pinakes_tests::skip;

use crate::clusters::setup::{Cluster, Flaky, example, has_program, root_hash};

/// How long a daemon may take to start, and how long the jobs may take.
const PATIENCE: Duration = Duration::from_secs(180);
const PAUSE: Duration = Duration::from_millis(100);

/// The daemons of a Slurm of this host alone; dropping ends them.
struct Slurm {
    conf: PathBuf,
    daemons: Vec<Child>,
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            // A daemon that is killed leaves its children.
            let _ = Command::new("kill").arg(daemon.id().to_string()).status();
            let _ = daemon.wait();
        }
    }
}

/// Ports that no program listens on.
fn free_ports() -> [u16; 2] {
    let listeners = [(); 2].map(|()| std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

impl Slurm {
    /// Starts the daemons, or says that the test is skipped.
    fn start(directory: &Path, test: &str) -> Option<Slurm> {
        if !["slurmctld", "slurmd", "sbatch"].iter().all(|name| has_program(name, test)) {
            return None;
        }
        if !rustix::process::geteuid().is_root() {
            skip(test, "slurmd needs root");
            return None;
        }
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let host = host.trim().split('.').next().unwrap().to_owned();
        let [controller, node] = free_ports();
        let place = directory.display();
        let conf = directory.join("slurm.conf");
        let text = format!(
            "ClusterName=pinakes\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={controller}\n\
             SlurmdPort={node}\nAuthType=auth/none\nCredType=cred/none\nAuthInfo=cred_expire=5\n\
             SlurmUser=root\nSlurmdUser=root\nStateSaveLocation={place}/state\n\
             SlurmdSpoolDir={place}/spool\nSlurmctldPidFile={place}/slurmctld.pid\n\
             SlurmdPidFile={place}/slurmd.pid\nMailProg=/bin/true\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nMpiDefault=none\n\
             JobAcctGatherType=jobacct_gather/none\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_CPU\nReturnToService=2\n\
             SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=0\n\
             NodeName={host} NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN\n\
             PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
        );
        fs::create_dir_all(directory.join("state")).unwrap();
        fs::create_dir_all(directory.join("spool")).unwrap();
        fs::write(&conf, text).unwrap();
        let mut slurm = Slurm { conf, daemons: Vec::new() };
        for daemon in ["slurmctld", "slurmd"] {
            let log = fs::File::create(directory.join(daemon).with_extension("log")).unwrap();
            let mut command = slurm.command(daemon);
            command.arg("-D").stdout(Stdio::null()).stderr(log);
            slurm.daemons.push(command.spawn().unwrap());
        }
        let begun = Instant::now();
        while !slurm.output(slurm.command("sinfo").args(["-h", "-o", "%t"])).contains("idle") {
            assert!(begun.elapsed() < PATIENCE, "Slurm did not start in {place}");
            thread::sleep(PAUSE);
        }
        Some(slurm)
    }

    fn command(&self, program: impl AsRef<Path>) -> Command {
        let program = program.as_ref();
        let sbin = Path::new("/usr/sbin").join(program);
        let mut command = Command::new(if sbin.is_file() { &sbin } else { program });
        command.env("SLURM_CONF", &self.conf);
        command
    }

    fn output(&self, command: &mut Command) -> String {
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    }

    /// Submits the example, and waits until the queue is empty.
    fn run(&self, cluster: &Cluster, flaky: &Flaky, units: &str) {
        let submitted = self
            .command(example("slurm.sh"))
            .arg(&cluster.plan)
            .arg(units)
            .args([cluster.host("objects"), cluster.workspace.out()])
            .env("PATH", flaky.path())
            .output()
            .unwrap();
        assert!(submitted.status.success(), "{submitted:?}");
        let begun = Instant::now();
        while !self.output(self.command("squeue").arg("-h")).is_empty() {
            assert!(begun.elapsed() < PATIENCE, "the jobs did not end");
            thread::sleep(PAUSE);
        }
    }
}

#[test]
fn a_slurm_array_with_a_dependent_link_gives_the_snapshot_of_a_single_run() {
    let test = "a_slurm_array_with_a_dependent_link_gives_the_snapshot_of_a_single_run";
    let directory = tempfile::tempdir().unwrap();
    let Some(slurm) = Slurm::start(directory.path(), test) else { return };
    let cluster = Cluster::of_sample(3);
    let flaky = Flaky::new(&cluster, 6);
    slurm.run(&cluster, &flaky, "3");
    // Slurm queued the failed task again, and only then ran the link.
    assert_eq!(flaky.tries(), ["compile 0", "compile 1", "compile 1", "compile 2", "link"]);
    let snapshot = cluster.workspace.out().join("current");
    assert!(files_below(&fs::canonicalize(&snapshot).unwrap()) == cluster.expected());
    assert_eq!(root_hash(&snapshot), root_hash(&cluster.host("single/current")));

    // A final exit code is not tried again, and the link does not run.
    let cluster = Cluster::of_sample(2);
    let flaky = Flaky::new(&cluster, 5);
    slurm.run(&cluster, &flaky, "2");
    assert_eq!(flaky.tries(), ["compile 0", "compile 1"]);
    assert!(!cluster.workspace.out().exists());
}
