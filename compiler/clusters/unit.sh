#!/bin/sh
# Compiles a unit, and tries again where another try may succeed. For schedulers that cannot tell exit codes
# apart, such as GNU parallel and Spark.
#
#   unit.sh PLAN UNIT OBJECTS
#
# TRIES (3) is how often the unit runs. The exit codes 2 to 5 are final.
set -u
tries=${TRIES:-3}
while :; do
    pinakes-compiler compile --plan "$1" --unit "$2" --objects "$3" --quiet && exit 0
    code=$?
    tries=$((tries - 1))
    case $code in 2 | 3 | 4 | 5) exit "$code" ;; esac
    test "$tries" -gt 0 || exit "$code"
done
