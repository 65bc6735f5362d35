#!/usr/bin/env bash
# Builds the library once with each seeded bug (`mutant!("name")` in the source) and runs the
# models on it under loom. Fails if a mutant survives: then the models do not watch what they
# claim to watch.
#
#   scripts/mutants.sh            all mutants
#   scripts/mutants.sh NAME...    these mutants
#
# Only the library itself is rebuilt for a mutant. Two preemptions are enough for loom to find
# every one of them, and take seconds where three take minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

export LOOM_MAX_PREEMPTIONS="${LOOM_MAX_PREEMPTIONS:-2}"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target/loom}"
export RUSTFLAGS="--cfg loom"
export RUST_BACKTRACE=0
readonly SECONDS_PER_MUTANT=300

declared() {
    grep -rhoE '[^`]mutant!\("[a-z_]+"' crates/windlass/src | cut -d'"' -f2 | sort -u
}

# Prints the path of the models' binary, built with the mutant given.
build() {
    cargo rustc --quiet --profile bench -p windlass --lib --message-format=json \
        -- --cfg "windlass_mutant=\"$1\"" |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p'
}

# Runs the models of a binary; prints the first that fails, and says yes if one does.
#
# loom ends the process where a failed model cannot be unwound, so the name is taken from the
# panic and not from the list of results.
is_caught() {
    local log status=0
    log=$(timeout "$SECONDS_PER_MUTANT" "$1" models 2>&1) || status=$?
    if [ "$status" -eq 0 ] || [ "$status" -eq 124 ]; then return 1; fi
    sed -n "s/^thread '\([a-z_:]*models::[a-z_]*\)'.* panicked at.*/\1/p" <<<"$log" | sed -n 1p
}

names=("$@")
if [ "${#names[@]}" -eq 0 ]; then mapfile -t names < <(declared); fi

survivors=0
printf '| mutant | caught by |\n|---|---|\n'
for name in "${names[@]}"; do
    binary=$(build "$name")
    if model=$(is_caught "$binary"); then
        printf '| %s | %s |\n' "$name" "$model"
    else
        printf '| %s | **nothing** |\n' "$name"
        survivors=$((survivors + 1))
    fi
    rm -f "$binary" "$binary.d"
done
printf '\n%d mutants, %d survived\n' "${#names[@]}" "$survivors"
[ "$survivors" -eq 0 ]
