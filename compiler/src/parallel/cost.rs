//! Work and span of a stage, as `--report` writes them.

use std::{collections::BTreeMap, fmt};

use serde::Serialize;

use crate::parallel::schedule::simulate;
use crate::parallel::tasks::{StepName, StepNanos, Task};

/// The numbers of cores on which tasks are simulated.
pub(crate) const CORES: [usize; 4] = [2, 8, 32, 64];

/// A phase of a run, of several stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Phase {
    /// From parts to objects.
    Compile,
    /// From objects to a snapshot.
    Link,
}

impl fmt::Display for Phase {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Phase::Compile => "compile",
            Phase::Link => "link",
        })
    }
}

/// Work and span of tasks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct TaskCost {
    /// Processor seconds of all tasks.
    pub work_seconds: f64,
    /// Processor seconds of the longest chain of tasks that wait for each other.
    pub span_seconds: f64,
    /// Seconds of a simulated schedule by the number of cores.
    pub simulated_seconds: BTreeMap<usize, f64>,
    /// Work and span by step.
    pub steps: BTreeMap<StepName, StepCost>,
}

/// Work and span of the steps of one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct StepCost {
    /// Processor seconds.
    pub work_seconds: f64,
    /// Processor seconds in the longest chain of the stage.
    pub span_seconds: f64,
}

impl StepCost {
    fn add(&mut self, later: StepCost) {
        self.work_seconds += later.work_seconds;
        self.span_seconds += later.span_seconds;
    }
}

impl TaskCost {
    /// Simulates a task and all tasks that it waits for.
    pub fn of(task: &Task) -> TaskCost {
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        let mut steps: BTreeMap<StepName, StepCost> = BTreeMap::new();
        task.each_step(true, &mut |name, StepNanos { work, span }| {
            let cost = StepCost { work_seconds: seconds(work), span_seconds: seconds(span) };
            steps.entry(name).or_default().add(cost);
        });
        let simulated = CORES.map(|cores| (cores, seconds(simulate(task, cores))));
        TaskCost {
            work_seconds: seconds(task.work),
            span_seconds: seconds(task.span),
            simulated_seconds: simulated.into(),
            steps,
        }
    }

    /// Adds the cost of tasks that run after these.
    pub fn add(&mut self, later: &TaskCost) {
        self.work_seconds += later.work_seconds;
        self.span_seconds += later.span_seconds;
        for (cores, seconds) in &later.simulated_seconds {
            *self.simulated_seconds.entry(*cores).or_default() += seconds;
        }
        for (step, cost) in &later.steps {
            self.steps.entry(step).or_default().add(*cost);
        }
    }
}
