//! A limit of memory for programs, the page cache included.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::Result;

/// A control group with a limit of memory; removed when dropped.
pub struct ControlGroup(PathBuf);

impl ControlGroup {
    /// Makes a group in either version of control groups; the error is why the machine does not allow it.
    pub fn new(bytes: u64) -> std::result::Result<ControlGroup, String> {
        let name = format!("pinakes-bench-{}", std::process::id());
        let places =
            [("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")];
        let mut reason = String::new();
        for (root, limit) in places {
            let group = Path::new(root).join(&name);
            let made = fs::create_dir(&group)
                .and_then(|()| fs::write(group.join(limit), bytes.to_string()));
            match made {
                Ok(()) => return Ok(ControlGroup(group)),
                Err(error) => {
                    let _ = fs::remove_dir(&group);
                    reason = format!("{}: {error}", group.display());
                }
            }
        }
        Err(reason)
    }

    /// Moves a process into the group.
    pub fn add(&self, pid: u32) -> Result<()> {
        Ok(fs::write(self.0.join("cgroup.procs"), pid.to_string())?)
    }

    /// A command that runs a program within the group.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(self.0.join("cgroup.procs"));
        command.arg(program);
        command
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
