#!/bin/sh
# One task of an array: compiles the unit of SLURM_ARRAY_TASK_ID. `slurm.sh` submits it.
#
#   slurm-unit.sh PLAN OBJECTS
#
# Slurm puts a task that another try may complete back into the queue, at most 3 times.
set -u
pinakes-compiler compile --plan "$1" --objects "$2" --threads "${SLURM_CPUS_PER_TASK:-1}" --quiet
code=$?
case $code in 0 | 2 | 3 | 4 | 5) exit "$code" ;; esac
if test "${SLURM_RESTART_COUNT:-0}" -lt 3; then
    # Slurm ends this script as it queues the task.
    scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID" && sleep 60
fi
exit "$code"
