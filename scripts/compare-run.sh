#!/usr/bin/env bash
# What a job costs: ten thousand times `true` with `windlass run`, xargs and the two programs called
# parallel, two at a time.
#
#   scripts/compare-run.sh [JOBS [RUNS]]     10000 jobs, 3 runs by default; GNU parallel runs once
#
# Needs findutils, parallel (GNU), moreutils and python3; a tool that is missing is left out. The tools
# differ in what they do: windlass and GNU parallel keep the outputs of jobs apart, the other two do not.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly WINDLASS="${CARGO_TARGET_DIR:-target}/release/windlass"
[ -x "$WINDLASS" ] || cargo build --quiet --release -p windlass-cli

exec python3 - "$WINDLASS" "${1:-10000}" "${2:-3}" <<'PY'
import os, resource, shutil, statistics, subprocess, sys, tempfile, time

windlass, jobs, runs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
inputs = [str(n) for n in range(1, jobs + 1)]
tools = [
    ("windlass run", [windlass, "run", "-j", "2", "true"], runs, True),
    ("windlass run --ungroup", [windlass, "run", "-u", "-j", "2", "true"], runs, True),
    ("xargs -P", ["xargs", "-n", "1", "-P", "2", "true"], runs, True),
    # Takes its inputs from the command line only.
    ("parallel of moreutils", ["parallel.moreutils", "-j", "2", "true", "--", *inputs], runs, False),
    ("GNU parallel", ["parallel", "-j", "2", "true"], 1, True),
]

def processor():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

print(f"{jobs} times `true`, two at a time, median of {runs}; {os.cpu_count()} processors")
tools = [tool for tool in tools if shutil.which(tool[1][0]) or print(f"{tool[0]:<24} not installed")]
taken = {name: ([], []) for name, *_ in tools}
with tempfile.TemporaryFile() as file:
    file.write("\n".join(inputs).encode() + b"\n")
    # In turn, so that a slow moment of the machine is one of all tools.
    for turn in range(runs):
        for name, command, count, reads in tools:
            if turn >= count:
                continue
            file.seek(0)
            begin, before = time.monotonic(), processor()
            subprocess.run(command, stdin=file if reads else subprocess.DEVNULL, check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            taken[name][0].append(time.monotonic() - begin)
            taken[name][1].append(processor() - before)
peer = taken.get("xargs -P")
for name, (seconds, used) in taken.items():
    took, work = statistics.median(seconds), statistics.median(used)
    beside = f" {took / statistics.median(peer[0]):6.2f} times xargs" if peer else ""
    print(f"{name:<24} {took:7.2f} s {took / jobs * 1e6:7.0f} us a job {work:7.2f} s of processor{beside}")
PY
