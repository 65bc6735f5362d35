#!/usr/bin/env bash
# Shows that the models notice bugs: runs them once with each seeded bug, and fails if one survives.
#
#   scripts/mutants.sh                 all bugs, and the models without any
#   scripts/mutants.sh NAME...         these bugs
#   scripts/mutants.sh --check         each patch applies and the patched copy compiles; quick
#   scripts/mutants.sh --list          prints the names
#   scripts/mutants.sh --find NAME...  runs all models of the part, then all, and prints the first that
#                                      notices the bug
#   scripts/mutants.sh --record NAME   writes the patch from the uncommitted changes in the library
#
# A seeded bug is a patch, `crates/windlass/mutants/NAME.patch`: what is wrong and which models must
# notice it, each under which of loom and shuttle, and a change to the source behind `mutant!("NAME")`.
# The library itself knows nothing of them. All patches are applied to one copy of it, which is built
# once for loom and once for shuttle; WINDLASS_MUTANT chooses the bug.
#
# To add a bug, or to renew a patch that no longer applies: write the bug into the source, use --record,
# undo the change (`git restore crates/windlass/src`), fill in the first two lines of the patch.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly PATCHES="$PWD/crates/windlass/mutants"
readonly ROOT="${CARGO_TARGET_DIR:-$PWD/target}/mutants"
readonly COPY="$ROOT/copy"
# Enough for loom to find each of the bugs; three take minutes where two take seconds.
export LOOM_MAX_PREEMPTIONS="${LOOM_MAX_PREEMPTIONS:-2}"
export SHUTTLE_ITERATIONS="${SHUTTLE_ITERATIONS:-300}"
# For a model that must fail: schedules are random, and the run ends with the first failure.
readonly ITERATIONS_TO_FAIL=10000
export RUST_BACKTRACE=0
readonly SECONDS_PER_MODEL=300
unset CARGO_TARGET_DIR

all_names() { (cd "$PATCHES" && printf '%s\n' *.patch | sed 's/\.patch$//'); }

# The models that must notice a bug, as lines `BACKEND MODEL`.
noticed_by() { sed -n '/^---/q; s/^Noticed by: //p' "$PATCHES/$1.patch"; }

backend_of() { noticed_by "$1" | sed -n '1s/ .*//p'; }

# The module that a bug is in, as a filter for its models.
module_of() { sed -n 's|^+++ b/src/\([a-z_]*\).*|\1::|p' "$PATCHES/$1.patch" | head -n 1; }

# Makes the copy with all patches. Files that stay the same keep their times, so that nothing is built
# again for nothing.
make_copy() {
    local fresh="$ROOT/fresh" name broken=0
    rm -rf "$fresh" && mkdir -p "$fresh/crates"
    cp Cargo.toml Cargo.lock "$fresh"
    # Cargo rewrites the lock file of the copy, which has fewer crates.
    cp Cargo.lock "$fresh/Cargo.lock.given"
    cp -r crates/windlass "$fresh/crates"
    local library="$fresh/crates/windlass" log="$ROOT/apply.log"
    rm -r "$library/mutants"
    cp "$PATCHES/mutant.rs" "$library/src/mutant.rs"
    # Before all modules, so that each of them can use the macro.
    sed -i '0,/^\(pub \)\?mod /s//#[macro_use]\nmod mutant;\n&/' "$library/src/lib.rs"
    while read -r name; do
        if ! (cd "$library" && git apply -C1 --whitespace=nowarn "$PATCHES/$name.patch") 2>"$log"; then
            cat "$log" >&2
            echo "$name.patch no longer applies: how to renew it is at the head of scripts/mutants.sh" >&2
            broken=1
        fi
    done < <(all_names)
    [ "$broken" -eq 0 ] || exit 1
    if diff -rq -x Cargo.lock "$fresh" "$COPY" >/dev/null 2>&1; then return; fi
    rm -rf "$COPY" && mv "$fresh" "$COPY"
}

# Builds the models of the copy for a backend, and prints the path of the binary.
build() {
    (
        cd "$COPY"
        RUSTFLAGS="--cfg $1" cargo test --quiet --release -p windlass --lib --no-run \
            --target-dir "$ROOT/$1" --message-format=json |
            sed -n 's/.*"executable":"\([^"]*\)".*/\1/p'
    )
}

# Runs models with a bug. Succeeds as soon as one fails, and prints its name.
#
# loom ends the process where a failed model cannot be unwound: then the name is that of the last
# thread that panicked.
find_failure() {
    local name=$1 binary=$2 log pid status=0 seen
    shift 2
    [ "$#" -gt 0 ] || return 1
    log=$(mktemp)
    WINDLASS_MUTANT=$name timeout "$SECONDS_PER_MODEL" "$binary" --exact "$@" >"$log" 2>&1 &
    pid=$!
    {
        while kill -0 "$pid" && ! grep -q '^test .* FAILED$' "$log"; do sleep 0.1; done
        kill "$pid" || true
        wait "$pid" || status=$?
    } 2>/dev/null
    seen=$(sed -n 's/^test \(.*\) \.\.\. FAILED$/\1/p' "$log" | sed -n 1p)
    if [ -z "$seen" ] && [ "$status" -ne 0 ] && [ "$status" -ne 124 ]; then
        seen=$(sed -n "s/^thread '\([a-z_:]*models::[a-z_:]*\)'.* panicked at.*/\1/p" "$log" | tail -n 1)
    fi
    rm -f "$log"
    [ -n "$seen" ] && echo "$seen"
}

models_of() { "$1" "$2" --list 2>/dev/null | sed -n 's/^\(.*models::.*\): test$/\1/p'; }

# Runs all models without any bug: a patch adds a branch to the library, which is then not taken.
# MODEL_SECONDS bounds how long loom explores each of them.
run_models() {
    local log
    log=$(mktemp)
    if ! env ${MODEL_SECONDS:+LOOM_MAX_DURATION="$MODEL_SECONDS"} "${binaries[$1]}" models >"$log" 2>&1; then
        cat "$log" >&2
        echo "the models fail without any bug, under $1" >&2
        exit 1
    fi
    printf '%s, without any bug: %s (%d s)\n' "$1" "$(grep '^test result' "$log")" "$SECONDS"
    rm -f "$log"
}

# Whether each model that must notice a bug does. Prints those that do not.
is_noticed() {
    local name=$1 backend model missed=0
    while read -r backend model; do
        if ! grep -qxF "$model" <(models_of "${binaries[$backend]}" models); then
            printf '| %s | there is no model %s under %s |\n' "$name" "$model" "$backend"
            missed=1
        elif ! SHUTTLE_ITERATIONS=$ITERATIONS_TO_FAIL \
            find_failure "$name" "${binaries[$backend]}" "$model" >/dev/null; then
            printf '| %s | **survives** %s |\n' "$name" "$model"
            missed=1
        fi
    done < <(noticed_by "$name")
    [ "$missed" -eq 0 ]
}

# The first model that notices a bug.
find_model() {
    local name=$1 backend=$2 binary=${binaries[$2]} models filter
    for filter in "$(module_of "$name")" models; do
        mapfile -t models < <(models_of "$binary" "$filter")
        if find_failure "$name" "$binary" "${models[@]}"; then return; fi
    done
    return 1
}

record() {
    local name=$1 patch="$PATCHES/$1.patch" head
    if git diff --quiet -- crates/windlass/src; then
        echo "there is no uncommitted change in crates/windlass/src to record" >&2
        exit 1
    fi
    head=$(sed '/^---/,$d' "$patch" 2>/dev/null || true)
    if [ -z "$head" ]; then head=$'Bug: TODO what is wrong\nNoticed by: loom TODO'; fi
    {
        echo "$head"
        git diff -U2 --relative=crates/windlass -- crates/windlass/src | sed '/^diff --git/d; /^index /d'
    } >"$patch.new"
    mv "$patch.new" "$patch"
    echo "recorded $patch; now: git restore crates/windlass/src, and scripts/mutants.sh $name"
}

# Fails unless each patch names the models that must notice its bug, and these exist.
check_heads() {
    local name model function wrong=0
    while read -r name; do
        if [ -z "$(noticed_by "$name")" ] || ! grep -q '^Bug: ' "$PATCHES/$name.patch"; then
            echo "$name.patch does not say what is wrong, or which models must notice" >&2
            wrong=1
        fi
        while read -r _ model; do
            function=${model##*::}
            if ! grep -rqw "$function" crates/windlass/src; then
                echo "$name.patch: there is no model $model" >&2
                wrong=1
            fi
        done < <(noticed_by "$name")
    done < <(all_names)
    [ "$wrong" -eq 0 ]
}

find=no
case "${1:-}" in
--list)
    all_names
    exit
    ;;
--record)
    record "${2:?the name of the bug}"
    exit
    ;;
--check)
    check_heads
    make_copy
    # A warning tells of a patch that no longer does what it should: a variable that nobody uses.
    (cd "$COPY" && RUSTFLAGS="-D warnings" cargo check --quiet -p windlass --lib --target-dir "$ROOT/check")
    echo "$(all_names | wc -l) patches apply, and the copy compiles"
    exit
    ;;
--find)
    find=yes
    shift
    ;;
-*)
    sed -n '2,/^#$/d; /^#   /s/^# \{0,3\}//p' "$0" >&2
    exit 2
    ;;
esac

names=("$@")
if [ "${#names[@]}" -eq 0 ]; then mapfile -t names < <(all_names); fi
make_copy
declare -A binaries
for name in "${names[@]}"; do
    backend=$(backend_of "$name")
    if [ -n "${binaries[$backend]:-}" ]; then continue; fi
    binaries[$backend]=$(build "$backend")
    if [ "$#" -eq 0 ]; then run_models "$backend"; fi
done

# As many at a time as there are cores: a model runs on one.
readonly SURVIVED=$(mktemp -d)
try() {
    local name=$1 backend model
    if [ "$find" = yes ]; then
        backend=$(backend_of "$name")
        model=$(find_model "$name" "$backend") || { model="**nothing**" && touch "$SURVIVED/$name"; }
        printf '%s: %s %s\n' "$name" "$backend" "$model"
    elif is_noticed "$name"; then
        printf '| %s | %s |\n' "$name" "$(noticed_by "$name" | paste -sd, | sed 's/,/, /g')"
    else
        touch "$SURVIVED/$name"
    fi
}
for name in "${names[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n || true; done
    try "$name" &
done
wait
survivors=$(find "$SURVIVED" -type f | wc -l)
rm -r "$SURVIVED"
printf '\n%d seeded bugs, %d survived, %d s\n' "${#names[@]}" "$survivors" "$SECONDS"
[ "$survivors" -eq 0 ]
