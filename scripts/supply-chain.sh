#!/usr/bin/env bash
# Checks what comes in from outside, and the builds that others may make of the library.
#
#   scripts/supply-chain.sh [CHECK...]
#
# deny       licences, duplicates, sources (`deny.toml`)
# advisories known holes in dependencies, where the database of them can be had
# minimal    the library builds and passes its unit tests with the oldest dependencies it declares
# abort      the library and an example build and run with `panic = "abort"`
# docs       the documentation builds with all features, warnings denied
# semver     no break of the public interface since the last release (tag `v*`)
# narrow     the library builds for a 32-bit target
# msrv       the library builds with the declared `rust-version`, or at least uses nothing newer
# mutants    cargo-mutants on the plain parts; slow, so only where it is asked for by name
#
# A missing cargo-deny is installed from crates.io (INSTALL=no forbids it). What the machine lacks is
# skipped with a notice.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly ROOT="${CARGO_TARGET_DIR:-$PWD/target}/supply-chain"
mkdir -p "$ROOT"
export CARGO_TARGET_DIR="$ROOT"
export PATH="$PATH:$ROOT/tools/bin"
# The parts without threads, where a mutant that survives means a test that is missing.
readonly PLAIN_PARTS=(
    queue/blocks.rs queue/heap.rs pool/ctl.rs pool/settings.rs
    scheduled/period.rs scheduled/heap.rs task/id.rs
)

# Exit code of a check that could not be made.
readonly SKIPPED=77

skip() {
    echo "   skipped: $1"
    return "$SKIPPED"
}

have() { command -v "$1" >/dev/null; }

get_cargo_deny() {
    have cargo-deny && return
    [ "${INSTALL:-yes}" = yes ] || skip "no cargo-deny" || return
    timeout 1200 cargo install --quiet --debug --locked --root "$ROOT/tools" cargo-deny ||
        skip "cargo-deny could not be installed"
}

deny() {
    get_cargo_deny || return
    cargo deny check licenses bans sources
}

advisories() {
    get_cargo_deny || return
    cargo deny fetch db >/dev/null 2>&1 || skip "the database cannot be reached" || return
    cargo deny check advisories
}

# Resolves into a copy with the library alone: the lock file of the workspace stays as it is, and
# the peers of the benchmarks have no say.
minimal() {
    local copy="$ROOT/minimal"
    rustup run nightly cargo --version >/dev/null 2>&1 || skip "no nightly toolchain" || return
    rm -rf "$copy" && mkdir -p "$copy/crates" || return 1
    cp Cargo.toml clippy.toml "$copy" && cp -r crates/windlass "$copy/crates" || return 1
    (
        cd "$copy"
        cargo +nightly generate-lockfile --quiet -Zdirect-minimal-versions &&
            cargo tree --quiet --depth 1 -e normal --all-features -p windlass &&
            cargo check --quiet --locked -p windlass --all-features &&
            cargo test --quiet --locked -p windlass --lib
    )
}

abort() {
    local set=(--config 'profile.release.panic="abort"' --target-dir "$ROOT/abort")
    cargo build --quiet --release -p windlass --all-features "${set[@]}" &&
        timeout 120 cargo run --quiet --release -p windlass --example graceful_shutdown "${set[@]}"
}

docs() {
    RUSTDOCFLAGS="-D warnings" cargo doc --quiet --no-deps -p windlass --all-features
}

semver() {
    local last
    last=$(git tag --list 'v*' --sort=-version:refname | head -n 1)
    [ -n "$last" ] || skip "nothing is released yet, so there is no baseline" || return
    have cargo-semver-checks || skip "no cargo-semver-checks" || return
    cargo semver-checks --package windlass --all-features --baseline-rev "$last"
}

narrow() {
    local target=i686-unknown-linux-gnu
    rustup target list --installed | grep -qx "$target" || skip "no std for $target" || return
    cargo check --quiet -p windlass --all-features --target "$target"
}

msrv() {
    local declared
    declared=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    if rustup toolchain list | grep -q "^$declared"; then
        cargo "+$declared" check --quiet -p windlass --all-features
    else
        echo "   no toolchain $declared: clippy's incompatible_msrv stands in, which knows std's"
        echo "   interface by version, but not the language nor the dependencies"
        cargo clippy --quiet -p windlass --all-features -- -D clippy::incompatible_msrv
    fi
}

mutants() {
    have cargo-mutants || skip "no cargo-mutants" || return
    # It builds in copies of its own.
    env -u CARGO_TARGET_DIR cargo mutants -p windlass --timeout 120 --output "$ROOT" \
        "${PLAIN_PARTS[@]/#/--file=crates/windlass/src/}" -- --lib
}

checks=("$@")
if [ "${#checks[@]}" -eq 0 ]; then checks=(deny advisories minimal abort docs semver narrow msrv); fi
declare -A verdicts
failed=0
for check in "${checks[@]}"; do
    echo "== $check ($SECONDS s)"
    code=0
    "$check" || code=$?
    case "$code" in
    0) verdicts[$check]=holds ;;
    "$SKIPPED") verdicts[$check]=skipped ;;
    *) verdicts[$check]=FAILED failed=1 ;;
    esac
    echo "-- $check: ${verdicts[$check]}"
done

printf '\n| check | verdict |\n|---|---|\n'
for check in "${checks[@]}"; do printf '| %s | %s |\n' "$check" "${verdicts[$check]}"; done
exit "$failed"
