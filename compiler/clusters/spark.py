"""Compiles a plan with Spark, a task for each unit, and links it.

    spark-submit spark.py PLAN UNITS OBJECTS SNAPSHOTS

Spark runs a failed task again, up to `spark.task.maxFailures` times. A unit whose exit code is final ends its
task without a failure, and the driver reports it. All paths must be the same on all hosts.
"""

import os
import shlex
import subprocess
import sys

from pyspark.sql import SparkSession

UNIT = """
read -r unit
pinakes-compiler compile --plan "$1" --unit "$unit" --objects "$2" --quiet >&2
code=$?
case $code in
    0) ;;
    2 | 3 | 4 | 5) echo "unit $unit ended with exit code $code" ;;
    *) exit "$code" ;;
esac
"""


def main(plan: str, units: int, objects: str, snapshots: str) -> int:
    spark = SparkSession.builder.appName("pinakes-units").getOrCreate()
    command = shlex.join(["sh", "-c", UNIT, "unit", plan, objects])
    numbers = spark.sparkContext.parallelize(range(units), units)
    # Without `env`, the command has no variables at all.
    env = {name: value for name, value in os.environ.items() if name == "PATH" or name.startswith("PINAKES_")}
    failed = numbers.pipe(command, env=env, checkCode=True).collect()
    spark.stop()
    if failed:
        print("\n".join(failed), file=sys.stderr)
        return 1
    link = ["pinakes-compiler", "link", "--plan", plan, "--objects", objects, "--out", snapshots]
    return subprocess.run(link, check=False).returncode


if __name__ == "__main__":
    plan, units, objects, snapshots = sys.argv[1:]
    sys.exit(main(plan, int(units), objects, snapshots))
