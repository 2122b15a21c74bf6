//! Simulates recorded tasks on a number of cores.
//!
//! Greedy list scheduling: a core that is free takes the task that has been ready for the longest time. A task that waits
//! for others frees its core. Cost: log2(cores) steps for each step of a task.
//!
//! ```text
//! tasks 3 3 2 2 2 on 2 cores      core 0: 3 2 2      time 7; work 12, so that 6 is the least
//!                                 core 1: 3 2
//! ```

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::parallel::tasks::{Step, Task};

/// A task that has begun.
struct Begun<'t> {
    task: &'t Task,
    /// Index of the next step.
    at: usize,
    /// The task that waits for this one, as its place among the begun tasks.
    parent: Option<usize>,
    /// How many tasks of the current fork have not ended.
    missing: usize,
}

/// Work that waits for a core.
#[derive(Clone, Copy)]
enum Ready<'t> {
    /// A task that has not begun, and the task that waits for it.
    New(&'t Task, Option<usize>),
    /// A part of a task whose steps are not kept, and the task.
    Piece(u64, usize),
    /// A task whose fork has ended.
    Resumed(usize),
}

/// The tasks and cores at a moment of the simulation.
struct Simulation<'t> {
    begun: Vec<Begun<'t>>,
    /// Places of `begun` that may be used again.
    free: Vec<usize>,
    ready: VecDeque<Ready<'t>>,
    /// When a core becomes free, and the task that the core runs.
    running: BinaryHeap<Reverse<(u64, usize)>>,
    now: u64,
}

/// Returns the nanoseconds that a task takes on `cores`.
pub(crate) fn simulate(task: &Task, cores: usize) -> u64 {
    let mut simulation = Simulation {
        begun: Vec::new(),
        free: Vec::new(),
        ready: VecDeque::from([Ready::New(task, None)]),
        running: BinaryHeap::new(),
        now: 0,
    };
    loop {
        while simulation.running.len() < cores.max(1)
            && let Some(ready) = simulation.ready.pop_front()
        {
            simulation.take(ready);
        }
        let Some(Reverse((now, at))) = simulation.running.pop() else { return simulation.now };
        simulation.now = now;
        simulation.go_on(at);
    }
}

impl<'t> Simulation<'t> {
    /// Gives a free core something to do.
    fn take(&mut self, ready: Ready<'t>) {
        match ready {
            Ready::New(task, parent) => {
                let begun = Begun { task, at: 0, parent, missing: 0 };
                let at = match self.free.pop() {
                    Some(at) => {
                        self.begun[at] = begun;
                        at
                    }
                    None => {
                        self.begun.push(begun);
                        self.begun.len() - 1
                    }
                };
                self.go_on(at);
            }
            Ready::Piece(nanos, at) => self.running.push(Reverse((self.now + nanos, at))),
            Ready::Resumed(at) => self.go_on(at),
        }
    }

    /// Begins the next step of a task, or ends the task.
    fn go_on(&mut self, at: usize) {
        let Begun { task, at: step, missing, .. } = &mut self.begun[at];
        let task = *task;
        // A piece of the task has ended; others run.
        if *missing > 1 && task.steps.is_empty() {
            *missing -= 1;
            return;
        }
        *step += 1;
        match task.steps.get(*step - 1) {
            Some(Step::Run(_, nanos)) => self.running.push(Reverse((self.now + nanos, at))),
            Some(Step::Fork(tasks)) if !tasks.is_empty() => {
                *missing = tasks.len();
                self.ready.extend(tasks.iter().map(|task| Ready::New(task, Some(at))));
            }
            Some(Step::Fork(_)) => self.ready.push_front(Ready::Resumed(at)),
            None if task.steps.is_empty() && *step == 1 => self.begin_pieces(at),
            None => self.end(at),
        }
    }

    /// Divides a task whose steps are not kept: its work in pieces as long as its span.
    fn begin_pieces(&mut self, at: usize) {
        let Task { work, span, .. } = *self.begun[at].task;
        let pieces = work / span.max(1);
        let rest = work - pieces * span;
        let rest = (rest > 0).then_some(rest);
        self.begun[at].missing = pieces as usize + rest.iter().len();
        let nanos = std::iter::repeat_n(span, pieces as usize).chain(rest);
        let pieces: Vec<Ready<'t>> = nanos.map(|nanos| Ready::Piece(nanos, at)).collect();
        match pieces.is_empty() {
            true => self.end(at),
            false => pieces.into_iter().rev().for_each(|piece| self.ready.push_front(piece)),
        }
    }

    fn end(&mut self, at: usize) {
        self.free.push(at);
        let Some(parent) = self.begun[at].parent else { return };
        let missing = &mut self.begun[parent].missing;
        *missing -= 1;
        if *missing == 0 {
            self.ready.push_front(Ready::Resumed(parent));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A task of one step.
    fn run(nanos: u64) -> Task {
        Task { steps: Vec::new(), work: nanos, span: nanos, name: "run" }
    }

    /// A task that runs, waits for tasks, and runs again.
    fn fork(before: u64, tasks: Vec<Task>, after: u64) -> Task {
        let work = tasks.iter().map(|task| task.work).sum::<u64>();
        let span = tasks.iter().map(|task| task.span).max().unwrap_or(0);
        Task {
            steps: vec![Step::Run("before", before), Step::Fork(tasks), Step::Run("after", after)],
            work: before + work + after,
            span: before + span + after,
            name: "fork",
        }
    }

    #[test]
    fn a_schedule_takes_what_hand_made_tasks_allow() {
        let wave = || fork(1, [3, 3, 2, 2, 2].map(run).to_vec(), 0);
        let pipeline = fork(0, vec![run(9), wave(), wave()], 5);
        let cases = [
            (run(7), [(1, 7), (2, 7), (64, 7)]),
            (wave(), [(1, 13), (2, 8), (64, 4)]),
            (fork(2, Vec::new(), 3), [(1, 5), (2, 5), (64, 5)]),
            (pipeline, [(1, 40), (2, 23), (64, 14)]),
            // Steps that are not kept divide into pieces as long as the span.
            (Task { span: 4, ..run(10) }, [(1, 10), (2, 6), (64, 4)]),
            (Task::default(), [(1, 0), (2, 0), (64, 0)]),
        ];
        for (task, expected) in cases {
            for (cores, nanos) in expected {
                assert_eq!(simulate(&task, cores), nanos, "{task:?} on {cores} cores");
                assert!(nanos >= task.span && (cores > 1 || nanos == task.work));
            }
        }
    }
}
