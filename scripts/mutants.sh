#!/usr/bin/env bash
# Runs the models once with each seeded bug (`mutant!("name")` in the source): under loom, or, for
# bugs of whole pools (`pool_...`), which are too large for loom, under shuttle. Fails if one
# survives: then the models do not watch what they claim to watch.
#
#   scripts/mutants.sh            all mutants, after a look at whether the models pass without
#   scripts/mutants.sh NAME...    these mutants
#   scripts/mutants.sh --list     says which there are
#
# All bugs are in one build for each of the two, and the environment chooses. The models of the part
# that has the bug run first; the rest only if it survives them. Two preemptions are enough for loom
# to find every one of them, and take seconds where three take minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

export LOOM_MAX_PREEMPTIONS="${LOOM_MAX_PREEMPTIONS:-2}"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target/mutants}"
export RUST_BACKTRACE=0
readonly SECONDS_PER_MUTANT=300

declared() {
    find crates/windlass/src -name '*.rs' -exec cat {} + | tr -s ' \n' ' ' |
        grep -oE '[^`]mutant!\( ?"[a-z_]+"' | cut -d'"' -f2 | sort -u
}

# What runs the models that notice a mutant.
backend_of() {
    case "$1" in
        pool_*) echo shuttle ;;
        *) echo loom ;;
    esac
}

build() {
    RUSTFLAGS="--cfg $1 --cfg windlass_mutants" CARGO_TARGET_DIR="$CARGO_TARGET_DIR/$1" \
        cargo test --release -p windlass --lib --no-run --message-format=json 2>/dev/null |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p'
}

# The module that a mutant is in, as a filter for its models.
home_of() {
    grep -rlE "\"$1\"" crates/windlass/src |
        sed -n '1s|^crates/windlass/src/\([a-z_]*\).*|\1::|p'
}

# Runs the models that a filter names, with a mutant. Says yes as soon as one fails, and prints it.
#
# loom ends the process where a failed model cannot be unwound: then the name is that of the last
# thread that panicked.
is_caught() {
    local log pid status=0 seen models
    mapfile -t models < <("$binary" "$2" --list | sed -n 's/^\(.*models::.*\): test$/\1/p')
    [ "${#models[@]}" -gt 0 ] || return 1
    log=$(mktemp)
    WINDLASS_MUTANT=$1 timeout "$SECONDS_PER_MUTANT" "$binary" --exact "${models[@]}" >"$log" 2>&1 &
    pid=$!
    while kill -0 "$pid" 2>/dev/null && ! grep -q '^test .* FAILED$' "$log"; do sleep 0.2; done
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || status=$?
    seen=$(sed -n 's/^test \(.*\) \.\.\. FAILED$/\1/p' "$log" | sed -n 1p)
    if [ -z "$seen" ] && [ "$status" -ne 0 ] && [ "$status" -ne 124 ]; then
        seen=$(sed -n "s/^thread '\([a-z_:]*models::[a-z_:]*\)'.* panicked at.*/\1/p" "$log" | tail -n 1)
    fi
    rm -f "$log"
    [ -n "$seen" ] && echo "$seen"
}

if [ "${1:-}" = --list ]; then
    declared
    exit
fi

names=("$@")
if [ "${#names[@]}" -eq 0 ]; then mapfile -t names < <(declared); fi
declare -A binaries
for name in "${names[@]}"; do
    backend=$(backend_of "$name")
    if [ -n "${binaries[$backend]:-}" ]; then continue; fi
    binaries[$backend]=$(build "$backend")
    if [ "$#" -eq 0 ] && ! "${binaries[$backend]}" models >/dev/null 2>&1; then
        echo "the models fail without any mutant, under $backend" >&2
        exit 1
    fi
done

survivors=0
printf '| mutant | caught by |\n|---|---|\n'
for name in "${names[@]}"; do
    binary=${binaries[$(backend_of "$name")]}
    if model=$(is_caught "$name" "$(home_of "$name")") || model=$(is_caught "$name" models); then
        printf '| %s | %s |\n' "$name" "$model"
    else
        printf '| %s | **nothing** |\n' "$name"
        survivors=$((survivors + 1))
    fi
done
printf '\n%d mutants, %d survived, %d s\n' "${#names[@]}" "$survivors" "$SECONDS"
[ "$survivors" -eq 0 ]
