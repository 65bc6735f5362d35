#!/usr/bin/env bash
# Runs each fuzz target (`fuzz/fuzz_targets`) under libFuzzer and the address sanitizer.
#
#   scripts/fuzz.sh [SECONDS [TARGET...]]     60 seconds for each of all targets by default
#
# Needs a nightly toolchain and a C++ compiler, not cargo-fuzz. Inputs that reach new code are kept in
# `fuzz/corpus`, those that fail in `fuzz/artifacts`; `TARGET_DIR/x86_64-unknown-linux-gnu/release/TARGET
# FILE` runs a failing one again.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly SECONDS_EACH="${1:-60}"
shift || true
targets=("$@")
if [ "${#targets[@]}" -eq 0 ]; then targets=(transcripts queues pools run_template envelopes); fi

readonly HOST=x86_64-unknown-linux-gnu
readonly BINARIES="${CARGO_TARGET_DIR:-$PWD/target}/fuzz"
if ! rustup run nightly rustc --version 2>/dev/null; then
    echo "skipped: no nightly toolchain"
    exit 0
fi

coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
coverage+=" -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
coverage+=" -Cllvm-args=-sanitizer-coverage-pc-table"
coverage+=" -Cllvm-args=-sanitizer-coverage-trace-compares"
echo "== build"
RUSTFLAGS="--cfg fuzzing -Zsanitizer=address -Cdebug-assertions $coverage" \
    cargo +nightly build --quiet --release --manifest-path fuzz/Cargo.toml \
    --target "$HOST" --target-dir "$BINARIES"

# Writes every seventh paragraph of the given files to a file of its own: the first inputs of the fuzzer.
seed() {
    local folder=$1
    shift
    if [ -n "$(ls -A "$folder")" ]; then return; fi
    awk -v folder="$folder" 'BEGIN { RS = "" } NR % 7 == 0 { file = folder "/seed-" NR
        print > file; close(file) }' "$@"
}

failed=0
for target in "${targets[@]}"; do
    inputs="fuzz/corpus/$target"
    failures="fuzz/artifacts/$target"
    mkdir -p "$inputs" "$failures"
    words=fuzz/scenario.dict
    case "$target" in
    queues) words=fuzz/queue.dict ;;
    run_template | envelopes) words=fuzz/command.dict ;;
    *) seed "$inputs" crates/windlass-conformance/corpus/*.txt ;;
    esac
    echo "== $target, $SECONDS_EACH s"
    log=$(mktemp)
    if "$BINARIES/$HOST/release/$target" "$inputs" -dict="$words" -artifact_prefix="$failures/" \
        -max_total_time="$SECONDS_EACH" -max_len=4096 -timeout=30 -rss_limit_mb=2048 \
        -verbosity=1 -print_final_stats=1 >"$log" 2>&1; then
        grep -E '^Done|number_of_executed_units|new_units_added' "$log"
        grep -oE 'cov: [0-9]+ ft: [0-9]+' "$log" | tail -n 1
        echo "verdict: $target holds"
    else
        tail -n 60 "$log"
        echo "verdict: $target FAILED"
        failed=1
    fi
    rm -f "$log"
done
exit "$failed"
