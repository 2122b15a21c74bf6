#!/bin/sh
# Submits a plan to Slurm: an array with a task for each unit, and a link that waits for all of them.
# Prints the number of the link's job.
#
#   slurm.sh PLAN UNITS OBJECTS SNAPSHOTS
#
# Options for sbatch, such as a partition, come from its variables: SBATCH_PARTITION, SBATCH_ACCOUNT, …
# All paths must be the same on all hosts.
set -eu
plan=$1 units=$2 objects=$3 snapshots=$4
here=$(cd "$(dirname "$0")" && pwd)
array=$(sbatch --parsable --job-name pinakes-units --array "0-$((units - 1))" --requeue \
    --output "$objects-%a.log" "$here/slurm-unit.sh" "$plan" "$objects")
sbatch --parsable --job-name pinakes-link --dependency "afterok:$array" --kill-on-invalid-dep yes \
    --output "$objects-link.log" \
    --wrap "pinakes-compiler link --plan '$plan' --objects '$objects' --out '$snapshots'"
