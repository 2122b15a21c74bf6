#!/bin/sh
# Compiles a plan with GNU parallel, each job slot into a directory of its own, copies the objects together
# and links them.
#
#   parallel.sh PLAN UNITS SLOTS OBJECTS SNAPSHOTS
#
# The directories OBJECTS-1, OBJECTS-2, … stand for the disks of hosts. On real hosts add `--sshlogin a,b`,
# replace `{%}` by a path on each host, and fetch the objects with `rsync -a HOST:OBJECTS/ OBJECTS/`.
set -eu
plan=$1 units=$2 slots=$3 objects=$4 snapshots=$5
here=$(dirname "$0")
seq 0 $((units - 1)) |
    parallel --jobs "$slots" --halt soon,fail=1 "$here/unit.sh" "$plan" {} "$objects-{%}"
mkdir -p "$objects"
for slot in $(seq "$slots"); do
    test ! -d "$objects-$slot" || cp -R "$objects-$slot/." "$objects/"
done
pinakes-compiler link --plan "$plan" --objects "$objects" --out "$snapshots"
