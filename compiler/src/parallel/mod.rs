//! Parallel regions that record their tasks: which took how much processor time, and which waited for which.
//!
//! ```text
//! join(write wave 1, map(4 batches of wave 2))       tasks: write 30 ms | batches 20, 22, 19, 25 ms
//! work = 30 + 20 + 22 + 19 + 25 = 116 ms             processor time of all tasks
//! span = max(30, 25)            = 30 ms              the longest chain of tasks that wait for each other
//! ```
//!
//! No schedule on any number of cores is faster than the span. The cores of the machine and other programs change work and
//! span little.
//!
//! A task costs two reads of the thread's clock. Tasks therefore should take at least 50 µs each. Code that calls rayon
//! directly counts as a part of the calling task, without the share of other threads.
//!
//! - `tasks` records what each task did, and `cost` sums work and span for the report.
//! - `schedule` simulates the tasks on a number of cores.
//! - `sort` sorts values by ranges.
//!
//! Imports no other folder.

pub(crate) mod cost;
mod schedule;
mod sort;
mod tasks;

use std::cell::RefCell;
use std::ops::Range;

use rayon::prelude::*;
use rustix::time::{ClockId, clock_gettime};

pub(crate) use crate::parallel::sort::{BLOCK_VALUES, sort_blocks};
use crate::parallel::tasks::{Recording, Step};
pub(crate) use crate::parallel::tasks::{StepName, Task};

thread_local! {
    /// The task that runs on this thread.
    static CURRENT: RefCell<Recording> = const { RefCell::new(Recording::NONE) };
}

/// Nanoseconds of processor time that this thread has taken.
fn thread_nanos() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Records `run` as a task. Another task of the same thread may wait meanwhile: its clock leaves `run` out.
fn record<R>(step: StepName, run: impl FnOnce() -> R) -> (R, Task) {
    let begun = thread_nanos();
    let waiting = CURRENT.replace(Recording::begin(step, begun));
    let result = run();
    let ended = thread_nanos();
    let recording = CURRENT.replace(waiting);
    CURRENT.with_borrow_mut(|waiting| waiting.leave_out(ended - begun));
    (result, recording.end(ended))
}

/// Ends the running part of the current task, which now waits for others. Returns the name of its step.
fn wait() -> StepName {
    CURRENT.with_borrow_mut(|current| current.pause(thread_nanos()))
}

/// Continues the current task after `tasks`.
fn resume(tasks: Vec<Task>) {
    CURRENT.with_borrow_mut(|current| current.resume(Step::Fork(tasks), thread_nanos()));
}

/// Begins the recording of a stage on this thread.
pub(crate) fn begin_stage(stage: StepName) {
    CURRENT.set(Recording::begin(stage, thread_nanos()));
    tasks::forget();
}

/// Ends the recording that this thread has begun.
pub(crate) fn end_stage() -> Task {
    CURRENT.replace(Recording::NONE).end(thread_nanos())
}

/// Runs a named step of the current task.
pub(crate) fn step<R>(name: StepName, run: impl FnOnce() -> R) -> R {
    let before = CURRENT.with_borrow_mut(|current| current.rename(name, thread_nanos()));
    let result = run();
    CURRENT.with_borrow_mut(|current| current.rename(before, thread_nanos()));
    result
}

/// Runs two tasks, on two threads if one is free.
pub(crate) fn join<A: Send, B: Send>(
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    let name = wait();
    let ((a, task_a), (b, task_b)) = rayon::join(|| record(name, a), || record(name, b));
    resume(vec![task_a, task_b]);
    (a, b)
}

/// Runs a task for each item, on all threads. Keeps the order.
pub(crate) fn map<I: Send, R: Send>(items: Vec<I>, run: impl Fn(I) -> R + Sync) -> Vec<R> {
    let name = wait();
    let (results, tasks) = items.into_par_iter().map(|item| record(name, || run(item))).unzip();
    resume(tasks);
    results
}

/// Runs a task for each item, on all threads, until a task fails.
pub(crate) fn try_map<I: Send, R: Send, E: Send>(
    items: Vec<I>,
    run: impl Fn(I) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let name = wait();
    let run = |item| {
        let (result, task) = record(name, || run(item));
        result.map(|result| (result, task))
    };
    let done: Result<Vec<(R, Task)>, E> = items.into_par_iter().map(run).collect();
    let (results, tasks) = done?.into_iter().unzip();
    resume(tasks);
    Ok(results)
}

/// Cuts a range into ranges of `length`; the last may be shorter.
pub(crate) fn ranges(range: Range<u32>, length: u32) -> Vec<Range<u32>> {
    let end = range.end;
    let starts = range.step_by(length.max(1) as usize);
    starts.map(|from| from..from.saturating_add(length).min(end)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes processor time, at least this many nanoseconds.
    fn spend(nanos: u64) {
        let end = thread_nanos() + nanos;
        while thread_nanos() < end {}
    }

    #[test]
    fn regions_record_work_and_the_longest_chain() {
        const MILLISECOND: u64 = 1_000_000;
        begin_stage("stage");
        spend(MILLISECOND);
        let (_, doubled) = join(
            || step("long", || spend(9 * MILLISECOND)),
            || {
                map(vec![1, 2, 3], |number| {
                    spend(2 * MILLISECOND);
                    number * 2
                })
            },
        );
        assert_eq!(doubled, [2, 4, 6]);
        let failed =
            try_map(vec![1, 2, 3], |number| if number == 2 { Err(number) } else { Ok(()) });
        assert_eq!(failed, Err(2));
        assert_eq!(ranges(3..10, 3), [3..6, 6..9, 9..10]);
        let task = end_stage();
        assert!(task.work >= 16 * MILLISECOND && task.span >= 10 * MILLISECOND, "{task:?}");
        assert!(task.span <= task.work - 6 * MILLISECOND, "{task:?}");
        let cost = cost::TaskCost::of(&task);
        let work: f64 = cost.steps.values().map(|step| step.work_seconds).sum();
        let span: f64 = cost.steps.values().map(|step| step.span_seconds).sum();
        assert!((work - cost.work_seconds).abs() < 1e-6, "{cost:?}");
        assert!((span - cost.span_seconds).abs() < 1e-6, "{cost:?}");
        assert!(cost.steps["long"].span_seconds >= 0.009, "{cost:?}");
        let mut twice = cost.clone();
        twice.add(&cost);
        assert_eq!(twice.work_seconds, cost.work_seconds * 2.0);
        assert_eq!(twice.steps["long"].work_seconds, cost.steps["long"].work_seconds * 2.0);
    }
}
