#!/usr/bin/env bash
# Compares the public interface of each published library with the one on record in `docs/api`, and
# shows what differs: each change to an interface is then a change to a file there.
#
#   scripts/public-api.sh            compares; fails if there is a difference
#   scripts/public-api.sh --bless    records the interfaces as they are now
#
# All features are on. Needs cargo and crates.io alone: rustdoc writes the interface as JSON (with
# RUSTC_BOOTSTRAP, as the option is not stable), and `scripts/public-api` lists what is in it. The
# format of the JSON changes with the compiler: what to do then is printed. The library part of
# windlass-cli is for its tests, so it has no record.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly CRATES=(windlass windlass-console windlass-remote windlass-scheduled-thread-pool windlass-threadpool)
readonly RECORDS=docs/api
readonly BUILD="${CARGO_TARGET_DIR:-$PWD/target}/public-api"
# The format that `scripts/public-api` reads.
readonly FORMAT=57

case "${1:-}" in
"" | --bless) ;;
*)
    sed -n '2,6s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac

check_format() {
    local format
    format=$(grep -oE '"format_version":[0-9]+' "$1" | tail -n 1 | cut -d: -f2)
    [ "$format" != "$FORMAT" ] || return 0
    cat >&2 <<MESSAGE
$(rustc --version) writes version $format of rustdoc's JSON; scripts/public-api reads version $FORMAT.
The interface was NOT checked. Either run this with a compiler that writes version $FORMAT (1.95:
\`RUSTUP_TOOLCHAIN=1.95.0 scripts/public-api.sh\`), or set the version of the crate public-api in
scripts/public-api/Cargo.toml to one whose rustdoc-types is 0.$format, and FORMAT here to $format.
MESSAGE
    return 1
}

echo "-- the program that lists what is public"
cargo build --quiet --locked --manifest-path scripts/public-api/Cargo.toml --target-dir "$BUILD"
mkdir -p "$RECORDS"
now=$(mktemp)
trap 'rm -f "$now"' EXIT

failed=0
for crate in "${CRATES[@]}"; do
    RUSTC_BOOTSTRAP=1 cargo rustdoc --quiet -p "$crate" --lib --all-features --target-dir "$BUILD" -- \
        -Zunstable-options --output-format json -Awarnings
    json="$BUILD/doc/${crate//-/_}.json"
    check_format "$json"
    "$BUILD/debug/public-api-list" "$json" >"$now"
    record="$RECORDS/$crate.txt"
    if [ "${1:-}" = --bless ]; then
        cp "$now" "$record"
        echo "recorded: $(wc -l <"$record") lines in $record"
    elif [ ! -f "$record" ]; then
        echo "there is no $record: run scripts/public-api.sh --bless" >&2
        failed=1
    elif diff -u --label "$crate, on record" --label "$crate, now" "$record" "$now"; then
        echo "$crate: the public interface is the one on record ($(wc -l <"$record") lines)"
    else
        failed=1
    fi
done
if ((failed)); then
    echo "a public interface has changed. If that is meant: scripts/public-api.sh --bless" >&2
    exit 1
fi
