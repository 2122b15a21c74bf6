//! Recorded tasks: what each did, in order, and the sums of work and span.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The name of a stage or of a step of a stage.
pub(crate) type StepName = &'static str;

/// Steps of a stage that are kept. A task that ends later keeps its work and span alone, which bounds the memory:
/// 48 bytes for each step.
const STEPS_MAX: usize = 1 << 19;

/// Steps that are kept so far, of this stage.
static STEPS: AtomicUsize = AtomicUsize::new(0);

/// Forgets how many steps are kept, when a stage begins.
pub(super) fn forget() {
    STEPS.store(0, Ordering::Relaxed);
}

/// A task that has ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Task {
    /// In order; empty if the task had one step, or if too many steps are kept.
    pub(super) steps: Vec<Step>,
    /// Nanoseconds of processor time, with all tasks that the task waited for.
    pub work: u64,
    /// Nanoseconds of the longest chain.
    pub span: u64,
    /// The name of the only step.
    pub(super) name: StepName,
}

/// A step of a task.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Nanoseconds of processor time on one thread.
    Run(StepName, u64),
    /// Tasks that may run at the same time. The next step waits for all of them.
    Fork(Vec<Task>),
}

/// Nanoseconds of a step.
pub(super) struct StepNanos {
    pub work: u64,
    /// The part of `work` in the longest chain.
    pub span: u64,
}

/// A task that runs or waits.
pub(super) struct Recording {
    steps: Vec<Step>,
    work: u64,
    span: u64,
    name: StepName,
    /// The thread's clock when the current step began, later by all that the step leaves out.
    begun: u64,
    is_waiting: bool,
}

impl Recording {
    /// No task runs on the thread.
    pub const NONE: Recording =
        Recording { steps: Vec::new(), work: 0, span: 0, name: "", begun: 0, is_waiting: true };

    pub fn begin(name: StepName, now: u64) -> Recording {
        Recording { name, begun: now, is_waiting: false, ..Recording::NONE }
    }

    /// Ends the step that runs.
    pub fn pause(&mut self, now: u64) -> StepName {
        if !self.is_waiting {
            let nanos = now.saturating_sub(self.begun);
            self.work += nanos;
            self.span += nanos;
            self.steps.push(Step::Run(self.name, nanos));
            self.is_waiting = true;
        }
        self.name
    }

    /// Adds a step that the task waited for, and goes on.
    pub fn resume(&mut self, step: Step, now: u64) {
        if let Step::Fork(tasks) = &step {
            self.work += tasks.iter().map(|task| task.work).sum::<u64>();
            self.span += tasks.iter().map(|task| task.span).max().unwrap_or(0);
        }
        self.steps.push(step);
        (self.begun, self.is_waiting) = (now, false);
    }

    /// Begins a step of another name. Returns the name before.
    pub fn rename(&mut self, name: StepName, now: u64) -> StepName {
        let before = self.pause(now);
        (self.name, self.begun, self.is_waiting) = (name, now, false);
        before
    }

    /// Leaves out what another task took of the thread's time.
    pub fn leave_out(&mut self, nanos: u64) {
        self.begun += nanos;
    }

    pub fn end(mut self, now: u64) -> Task {
        self.pause(now);
        let Recording { mut steps, work, span, name, .. } = self;
        let kept = STEPS.fetch_add(steps.len(), Ordering::Relaxed);
        if steps.len() == 1 || kept > STEPS_MAX {
            steps = Vec::new();
        }
        steps.shrink_to_fit();
        Task { steps, work, span, name }
    }
}

impl Task {
    /// Calls `visit` with the name and the nanoseconds of each step, and whether the step is in the longest chain. A task
    /// without kept steps counts as one step of its work; its span is in the chain.
    pub(super) fn each_step(&self, is_in_chain: bool, visit: &mut impl FnMut(StepName, StepNanos)) {
        let nanos = |work, span| StepNanos { work, span: if is_in_chain { span } else { 0 } };
        if self.steps.is_empty() {
            return visit(self.name, nanos(self.work, self.span));
        }
        for step in &self.steps {
            match step {
                Step::Run(name, of_step) => visit(name, nanos(*of_step, *of_step)),
                Step::Fork(tasks) => {
                    let longest = (0..tasks.len()).max_by_key(|at| tasks[*at].span);
                    for (at, task) in tasks.iter().enumerate() {
                        task.each_step(is_in_chain && Some(at) == longest, visit);
                    }
                }
            }
        }
    }
}
