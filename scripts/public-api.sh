#!/usr/bin/env bash
# Compares the public interface of the library with the one on record, `docs/api/windlass.txt`, and
# shows what differs: each change to the interface is then a change to that file.
#
#   scripts/public-api.sh            compares; fails if there is a difference
#   scripts/public-api.sh --bless    records the interface as it is now
#
# All features are on. Needs cargo and crates.io alone: rustdoc writes the interface as JSON (with
# RUSTC_BOOTSTRAP, as the option is not stable), and `scripts/public-api` lists what is in it. The
# format of the JSON changes with the compiler: what to do then is printed.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly RECORD=docs/api/windlass.txt
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

echo "-- rustdoc's JSON of windlass, all features"
RUSTC_BOOTSTRAP=1 cargo rustdoc --quiet -p windlass --lib --all-features --target-dir "$BUILD" -- \
    -Zunstable-options --output-format json -Awarnings

readonly JSON="$BUILD/doc/windlass.json"
format=$(grep -oE '"format_version":[0-9]+' "$JSON" | tail -n 1 | cut -d: -f2)
if [ "$format" != "$FORMAT" ]; then
    cat >&2 <<MESSAGE
$(rustc --version) writes version $format of rustdoc's JSON; scripts/public-api reads version $FORMAT.
The interface was NOT checked. Either run this with a compiler that writes version $FORMAT (1.95:
\`RUSTUP_TOOLCHAIN=1.95.0 scripts/public-api.sh\`), or set the version of the crate public-api in
scripts/public-api/Cargo.toml to one whose rustdoc-types is 0.$format, and FORMAT here to $format.
MESSAGE
    exit 1
fi

echo "-- the list of what is public"
cargo build --quiet --locked --manifest-path scripts/public-api/Cargo.toml --target-dir "$BUILD"
mkdir -p "$(dirname "$RECORD")"
now=$(mktemp)
trap 'rm -f "$now"' EXIT
"$BUILD/debug/public-api-list" "$JSON" >"$now"

if [ "${1:-}" = --bless ]; then
    cp "$now" "$RECORD"
    echo "recorded: $(wc -l <"$RECORD") lines in $RECORD"
elif [ ! -f "$RECORD" ]; then
    echo "there is no $RECORD: run scripts/public-api.sh --bless" >&2
    exit 1
elif diff -u --label "on record" --label "now" "$RECORD" "$now"; then
    echo "the public interface is the one on record ($(wc -l <"$RECORD") lines)"
else
    echo "the public interface has changed. If that is meant: scripts/public-api.sh --bless" >&2
    exit 1
fi
