#!/usr/bin/env bash
# Runs the tests under the sanitizers and under valgrind, and prints what each of them found.
#
#   scripts/sanitizers.sh                     all
#   scripts/sanitizers.sh asan|lsan|tsan|memcheck ...
#
# asan      all tests of the library and of the conformance crate; leaks are checked too
# lsan      the same, under the leak sanitizer alone
# tsan      the unit tests and models of the library. Not a gate: without an instrumented std it
#           sees neither the slow paths of std's locks nor fences, and reports races that are none.
#           The reports are counted by place.
# memcheck  the examples and the models, once each, on the optimised build
#
# Each tool first runs on a seeded error of its kind (`scripts/seeded/errors.rs`): one that does not
# report it proves nothing. A tool that is missing is skipped with a notice. `TESTS` narrows the tests:
# `TESTS="--lib task::" scripts/sanitizers.sh asan`.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly HOST=x86_64-unknown-linux-gnu
readonly ROOT="${CARGO_TARGET_DIR:-$PWD/target}/sanitizers"
mkdir -p "$ROOT"
declare -A verdicts
failed=0

# So that reports have names and lines.
export CARGO_PROFILE_DEV_DEBUG=line-tables-only
export LSAN_OPTIONS="suppressions=$PWD/scripts/lsan.supp:print_suppressions=0"
export RUST_BACKTRACE=0

verdict() {
    verdicts[$1]=$2
    echo "-- $1: $2"
}

fails() {
    verdict "$1" "$2"
    failed=1
}

flags() {
    case "$1" in
    asan) echo "-Zsanitizer=address --cfg windlass_plain_memory" ;;
    lsan) echo "-Zsanitizer=leak --cfg windlass_plain_memory" ;;
    tsan) echo "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer" ;;
    memcheck) echo "" ;;
    esac
}

error_of() {
    case "$1" in
    lsan) echo leak ;;
    tsan) echo race ;;
    *) echo use-after-free ;;
    esac
}

# Whether the tool reports the seeded error, and nothing without it.
reports_seeded_error() {
    local tool=$1 binary="$ROOT/errors-$1" runner=()
    if [ "$tool" = memcheck ]; then
        rustc --edition 2024 -O scripts/seeded/errors.rs -o "$binary"
        runner=(valgrind --quiet --error-exitcode=9)
    else
        # shellcheck disable=SC2046
        rustc +nightly --edition 2024 -O --target "$HOST" $(flags "$tool") \
            scripts/seeded/errors.rs -o "$binary"
    fi
    "${runner[@]}" "$binary" none >/dev/null 2>&1 || return 1
    ! "${runner[@]}" "$binary" "$(error_of "$tool")" >/dev/null 2>&1
}

cargo_under() {
    local tool=$1
    shift
    RUSTFLAGS="$(flags "$tool")" cargo +nightly "$@" --target "$HOST" --target-dir "$ROOT/$tool"
}

# asan and lsan: a report fails its test.
suite() {
    local tool=$1 log="$ROOT/$1.log"
    # shellcheck disable=SC2206
    local tests=(${TESTS:---lib --tests})
    if cargo_under "$tool" test --no-fail-fast -p windlass -p windlass-conformance \
        "${tests[@]}" >"$log" 2>&1; then
        verdict "$tool" "clean: $(grep -c '^test result: ok' "$log") binaries, $(
            awk '/^test result/ { n += $4 } END { print n + 0 }' "$log") tests"
    else
        grep -E 'SUMMARY|^test .*FAILED|panicked at|^error' "$log" | sort | uniq -c | head -n 40
        fails "$tool" "FAILED, see $log"
    fi
}

races() {
    local log="$ROOT/tsan.log"
    # shellcheck disable=SC2206
    local tests=(${TESTS:---lib})
    TSAN_OPTIONS="halt_on_error=0:exitcode=0:history_size=4" \
        cargo_under tsan test -p windlass "${tests[@]}" >"$log" 2>&1 || true
    grep -E '^test result' "$log" || true
    grep '^SUMMARY: ThreadSanitizer' "$log" | sed -E 's/:[0-9]+(:[0-9]+)? / /; s/^SUMMARY: //' |
        sort | uniq -c | sort -rn | head -n 30 || true
    verdict tsan "$(grep -c '^SUMMARY: ThreadSanitizer' "$log" || true) reports, not a gate ($log)"
}

memcheck() {
    local log="$ROOT/memcheck.log" bad=0 runs=0 binary name
    local check=(valgrind --quiet --fair-sched=yes --error-exitcode=9 --leak-check=full
        --errors-for-leak-kinds=definite)
    cargo build --quiet --release --examples -p windlass --target-dir "$ROOT/memcheck"
    binary=$(cargo test --quiet --release --no-run -p windlass --lib \
        --target-dir "$ROOT/memcheck" --message-format=json |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1)
    : >"$log"
    for example in crates/windlass/examples/*.rs; do
        name=$(basename "$example" .rs)
        runs=$((runs + 1))
        timeout 120 "${check[@]}" "$ROOT/memcheck/release/examples/$name" >>"$log" 2>&1 ||
            { bad=$((bad + 1)) && echo "   $name: exit $?"; }
    done
    runs=$((runs + 1))
    timeout 300 "${check[@]}" "$binary" --test-threads 1 models >>"$log" 2>&1 ||
        { bad=$((bad + 1)) && echo "   models: exit $?"; }
    if [ "$bad" -eq 0 ]; then
        verdict memcheck "clean: $runs runs"
    else
        fails memcheck "$bad of $runs runs FAILED, see $log"
    fi
}

lacks() {
    if [ "$1" = memcheck ]; then
        command -v valgrind >/dev/null || echo "valgrind"
    elif ! rustup run nightly rustc --version >/dev/null 2>&1; then
        echo "a nightly toolchain"
    elif ! compgen -G "$(rustc +nightly --print sysroot)/lib/rustlib/$HOST/lib/*rt.$1.a" >/dev/null; then
        echo "the runtime of $1"
    fi
}

tools=("$@")
if [ "${#tools[@]}" -eq 0 ]; then tools=(asan lsan tsan memcheck); fi
for tool in "${tools[@]}"; do
    echo "== $tool ($SECONDS s)"
    missing=$(lacks "$tool")
    if [ -n "$missing" ]; then
        verdict "$tool" "skipped: $missing is missing"
        continue
    fi
    if reports_seeded_error "$tool"; then
        echo "   it reports the seeded error"
    else
        fails "$tool" "FAILED: it does not report the seeded error"
        continue
    fi
    case "$tool" in
    asan | lsan) suite "$tool" ;;
    tsan) races ;;
    memcheck) memcheck ;;
    *) fails "$tool" "unknown tool" ;;
    esac
done

printf '\n| tool | verdict |\n|---|---|\n'
for tool in "${tools[@]}"; do printf '| %s | %s |\n' "$tool" "${verdicts[$tool]}"; done
exit "$failed"
