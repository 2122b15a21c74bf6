//! The command `plan`, and the number of a unit.

use crate::cli::build::refuse_inside;
use crate::cli::options::PlanArgs;
use crate::compile::input;
use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::report::RunReport;
use crate::terminal::escape::escape_path;
use crate::terminal::progress::terminal_width;

/// The variables in which schedulers tell a job its number. All four count as the array of the job does.
const ARRAY_VARIABLES: [&str; 4] =
    ["SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX", "AWS_BATCH_JOB_ARRAY_INDEX", "PBS_ARRAY_INDEX"];

/// The default of `--memory`, with which machines compile the units of a plan.
const PLANNED_MEMORY_BYTES: u64 = 2 << 30;

/// Writes a plan, and prints its size and what it found.
pub(crate) fn plan(args: PlanArgs) -> Result<()> {
    args.transfer.configure();
    refuse_inside(&args.input, &args.out, "--out")?;
    let inputs = input::find(&args.input.inputs, args.input.manifest_policy())?;
    // The memory of a part belongs to the run that compiles it, and the limit of a record to the plan.
    let plan = Plan::new(inputs, args.units, args.input.read_limits(PLANNED_MEMORY_BYTES, 0))?;
    plan.write(&args.out)?;
    if !args.quiet {
        let mut report = RunReport::new("plan");
        report.skipped_files.clone_from(&plan.facts.skipped);
        report.warnings.clone_from(&plan.facts.warnings.counts);
        report.first_warnings.clone_from(&plan.facts.warnings.first);
        eprint!("{}{}", report.table(terminal_width()), describe(&plan));
        eprintln!("{:>10} {}: {}", "planned", escape_path(&args.out), plan.hash);
    }
    Ok(())
}

/// Formats the number of units and their sizes.
fn describe(plan: &Plan) -> String {
    let bytes = |parts: &Vec<input::Part>| parts.iter().map(|part| part.size_bytes).sum::<u64>();
    let sizes = || plan.units.iter().map(bytes);
    let (least, most) = (sizes().min().unwrap_or_default(), sizes().max().unwrap_or_default());
    format!(
        "{:>10} {} parts, {} bytes, in the units 0 to {} of {least} to {most} bytes\n",
        "divided",
        plan.facts.parts,
        plan.facts.bytes,
        plan.facts.units - 1
    )
}

/// Returns the number that a scheduler gave this job. `variable` reads the environment.
pub(crate) fn unit_number(variable: impl Fn(&str) -> Option<String>) -> Result<u32> {
    let set = ARRAY_VARIABLES.into_iter().filter_map(|name| Some((name, variable(name)?)));
    let set: Vec<(&str, String)> = set.collect();
    let Some((name, first)) = set.first() else {
        let names = ARRAY_VARIABLES.join(", ");
        let reason = format!("which unit? give `--unit K`, or run the job with one of {names}");
        return Err(Error::Usage(reason));
    };
    if let Some((other, value)) = set.iter().find(|(_, value)| value != first) {
        return Err(Error::Usage(format!(
            "{name} is `{first}`, but {other} is `{value}`; give the unit as `--unit K`"
        )));
    }
    first.parse().map_err(|_| {
        Error::Usage(format!("{name} is `{first}`, not the number of a unit; give `--unit K`"))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_unit_comes_from_the_scheduler() {
        let number = |set: &[(&str, &str)]| {
            let value =
                |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
            unit_number(|name| value(name).map(str::to_owned))
        };
        for name in ARRAY_VARIABLES {
            assert_eq!(number(&[(name, "12"), ("SLURM_PROCID", "3")]).unwrap(), 12, "{name}");
        }
        let [slurm, kubernetes, ..] = ARRAY_VARIABLES;
        assert_eq!(number(&[(slurm, "3"), (kubernetes, "3")]).unwrap(), 3);
        let check = |set: &[(&str, &str)], phrase: &str| {
            let error = number(set).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{error}");
            assert!(error.to_string().contains(phrase), "{error}");
        };
        check(&[], "give `--unit K`");
        check(&[(slurm, "3"), (kubernetes, "4")], "JOB_COMPLETION_INDEX is `4`");
        check(&[(slurm, "")], "SLURM_ARRAY_TASK_ID is ``, not the number");
        check(&[(slurm, "-1")], "is `-1`, not the number");
    }
}
