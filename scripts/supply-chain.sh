#!/usr/bin/env bash
# Checks the dependencies, and the builds that users of the library make.
#
#   scripts/supply-chain.sh [CHECK...]
#
# deny       licences, duplicates, sources of dependencies (`deny.toml`)
# advisories known vulnerabilities of dependencies, if the database can be fetched
# minimal    the library builds and passes its unit tests with the lowest versions it declares
# abort      the library and an example build and run with `panic = "abort"`
# docs       the documentation of each published crate builds with all features, warnings denied
# semver     no breaking change of a public interface since the last release (tag `v*`)
# narrow     the library builds for a 32-bit target
# msrv       each published crate builds with the `rust-version` that it declares, or at least uses nothing newer
# package    each published crate builds from its package alone, which has a README and both licences (VERIFY=no: the
#            packages are made and looked at, but not built, which takes seconds)
# install    the command, installed from its folder, says its version and computes a size
# mutants    cargo-mutants on the files without threads; slow, so only if named
#
# A missing cargo-deny is installed from crates.io (INSTALL=no forbids it). A check whose tool is
# missing is skipped with a notice.
set -euo pipefail
cd "$(dirname "$0")/.."

# Packages and the installed command use what the tests have built.
readonly BUILT="${CARGO_TARGET_DIR:-$PWD/target}"
readonly ROOT="$BUILT/supply-chain"
mkdir -p "$ROOT"
export CARGO_TARGET_DIR="$ROOT"
export PATH="$PATH:$ROOT/tools/bin"
# The files without threads, where a mutant that survives means that a test is missing. Each is judged
# by its own unit tests alone: that is strict, and no whole pool hangs until its time limit.
readonly PLAIN_FILES="${PLAIN_FILES:-queue/parts/block.rs queue/parts/block_list.rs queue/parts/stable_heap.rs pool/ctl.rs
    pool/settings.rs scheduled/period.rs scheduled/timer_set.rs sync/adaptive_spin.rs task/id.rs
    task/recycled_box.rs}"
# Mutants that behave as the original.
readonly EQUIVALENT=(
    # A pool that is in this state already writes the word that it has.
    'ctl.rs.*replace < with <= in Ctl::advance_to'
    # No two entries have the same sequence number, and none is compared with itself.
    'queue/parts/stable_heap.rs.*replace < with <= in Entry<T>::precedes'
)

# Exit code of a check that could not run.
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
    cargo deny fetch db >/dev/null 2>&1 || skip "the database cannot be fetched" || return
    cargo deny check advisories
}

# Resolves in a copy with the library alone: the lock file of the workspace stays as it is, and the
# dependencies of the benchmarks do not count.
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
    # Not one command: a time limit for the run must not be one for the build.
    cargo build --quiet -p windlass --all-features --example graceful_shutdown \
        --config 'profile.dev.panic="abort"' --target-dir "$ROOT/abort" &&
        timeout 120 "$ROOT/abort/debug/examples/graceful_shutdown"
}

docs() {
    local names=()
    mapfile -t names < <(published)
    RUSTDOCFLAGS="-D warnings" cargo doc --quiet --no-deps --lib "${names[@]/#/--package=}" --all-features
}

semver() {
    local last names=()
    mapfile -t names < <(published)
    last=$(git tag --list 'v*' --sort=-version:refname | head -n 1)
    [ -n "$last" ] || skip "no release yet, so there is no baseline" || return
    have cargo-semver-checks || skip "no cargo-semver-checks" || return
    cargo semver-checks "${names[@]/#/--package=}" --all-features --baseline-rev "$last"
}

narrow() {
    local target=i686-unknown-linux-gnu
    rustup target list --installed | grep -qx "$target" || skip "no std for $target" || return
    cargo check --quiet -p windlass --all-features --target "$target"
}

# The version of Rust that a crate asks for.
declared() {
    sed -n 's/^rust-version = "\(.*\)"/\1/p' "crates/$1/Cargo.toml" Cargo.toml | head -n 1
}

msrv() {
    local crate version others=()
    for crate in $(published); do
        version=$(declared "$crate")
        if rustup toolchain list | grep -q "^$version"; then
            echo "   $crate with $version"
            cargo "+$version" check --quiet -p "$crate" --all-features || return 1
        else
            echo "   $crate: no toolchain $version"
            others+=("$crate")
        fi
    done
    [ "${#others[@]}" -gt 0 ] || return 0
    echo "   for those: what their dependencies declare, and clippy's incompatible_msrv, which checks the use of std;"
    echo "   the language is not checked"
    declared_by_dependencies "${others[@]}" || return 1
    cargo clippy --quiet "${others[@]/#/--package=}" --all-features -- -D clippy::incompatible_msrv
}

# No dependency in the lock file asks for a newer Rust than the crate above it does.
declared_by_dependencies() {
    have python3 || { echo "   (no python3, so the dependencies are not checked)" && return; }
    cargo metadata --locked --quiet --format-version 1 --all-features --filter-platform x86_64-unknown-linux-gnu |
        python3 -c '
import json, sys
data = json.load(sys.stdin)
packages = {package["id"]: package for package in data["packages"]}
nodes = {node["id"]: node["deps"] for node in data["resolve"]["nodes"]}
number = lambda text: [int(part) for part in (text + ".0.0").split(".")[:3]]
failed = False
for crate in packages.values():
    if crate["source"] or crate["name"] not in sys.argv[1:]:
        continue
    seen, open_ = set(), [crate["id"]]
    while open_:
        one = open_.pop()
        if one not in seen:
            seen.add(one)
            uses = lambda dep: any(kind["kind"] in (None, "build") for kind in dep["dep_kinds"])
            open_ += [dep["pkg"] for dep in nodes[one] if uses(dep)]
    for package in (packages[one] for one in seen):
        wants = package["rust_version"]
        if wants and number(wants) > number(crate["rust_version"]):
            name, version, own = package["name"], package["version"], crate["rust_version"]
            print("  ", crate["name"], own, "uses", name, version, "which needs", wants, file=sys.stderr)
            failed = True
    print("  ", crate["name"], crate["rust_version"], "and its", len(seen) - 1, "dependencies")
sys.exit(failed)' "$@"
}

# Names the crates that are published.
published() {
    grep -L '^publish = false' crates/*/Cargo.toml | sed -n 's#crates/\(.*\)/Cargo.toml#\1#p'
}

# Cargo builds the crates in the order of their dependencies, each from the files of its package.
package() {
    local crate names=() file missing=0 how=()
    mapfile -t names < <(published)
    [ "${VERIFY:-yes}" = yes ] || how=(--no-verify)
    rm -rf "$BUILT/package"
    CARGO_TARGET_DIR="$BUILT" cargo package --quiet "${how[@]}" "${names[@]/#/--package=}" || return 1
    for crate in "${names[@]}"; do
        local list
        list=$(tar -tzf "$BUILT/package/$crate"-[0-9]*.crate | sed 's#^[^/]*/##')
        printf '   %-32s %4d files, %4d KiB\n' "$crate" "$(wc -l <<<"$list")" \
            $(($(stat -c %s "$BUILT/package/$crate"-[0-9]*.crate) / 1024))
        for file in README.md LICENSE-MIT LICENSE-APACHE; do
            grep -qx "$file" <<<"$list" || { echo "   $crate: no $file" >&2 && missing=1; }
        done
    done
    return "$missing"
}

# Without optimisation: whether it works does not depend on it, and most of it is built already.
install() {
    local root="$ROOT/install" said
    cargo install --quiet --debug --locked --path crates/windlass-cli --root "$root" --target-dir "$BUILT" || return 1
    said=$("$root/bin/windlass" --version) && echo "   $said" || return 1
    # 90 ms of waiting for 10 ms of computing: ten threads for each processor.
    said=$("$root/bin/windlass" size --cores 1 --wait 90ms --compute 10ms) || return 1
    echo "   ${said%%$'\n'*}"
    [[ "$said" == "10 threads"* ]]
}

mutants() {
    have cargo-mutants || skip "no cargo-mutants" || return
    local file code worst=0 table=""
    for file in $PLAIN_FILES; do
        if [ ! -f "crates/windlass/src/$file" ]; then
            echo "there is no $file: update PLAIN_FILES" >&2
            return 1
        fi
        code=0
        mutants_in "$file" || code=$?
        # 2: some survived; 3: some hung, which counts as found.
        case "$code" in 0 | 2 | 3) ;; *) return 1 ;; esac
        table+=$(mutants_row "$file")$'\n'
        ! survivors "$file" | grep -q . || worst=1
    done
    echo "| file | mutants | failed test | hang | does not build | survived | of these equivalent |"
    echo "|---|---|---|---|---|---|---|"
    printf '%s' "$table"
    for file in $PLAIN_FILES; do survivors "$file"; done
    return "$worst"
}

# `-C --lib` keeps it from building every test and example for every mutant. Helpers of tests are
# excluded.
mutants_in() {
    local module="${1%.rs}"
    mkdir -p "$ROOT/mutants/$1"
    env CARGO_INCREMENTAL=1 CARGO_PROFILE_TEST_DEBUG=0 CARGO_PROFILE_DEV_DEBUG=0 \
        cargo mutants -p windlass --file="crates/windlass/src/$1" --exclude-re 'tests::' \
        --timeout 20 --cap-lints=true --output "$ROOT/mutants/$1" -C=--lib -- "${module//\//::}::"
}

mutants_row() {
    local of="$ROOT/mutants/$1/mutants.out" kind counts=()
    for kind in caught timeout unviable missed; do counts+=("$(wc -l <"$of/$kind.txt")"); done
    printf '| `%s` | %d | %d | %d | %d | %d | %d |' "$1" $((${counts[*]/%/ +} 0)) "${counts[@]}" \
        $((counts[3] - $(survivors "$1" | wc -l)))
}

# The survivors that are not known to be equivalent.
survivors() {
    grep -vf <(printf '%s\n' "${EQUIVALENT[@]}") "$ROOT/mutants/$1/mutants.out/missed.txt" || true
}

checks=("$@")
if [ "${#checks[@]}" -eq 0 ]; then checks=(deny advisories minimal abort docs semver narrow msrv package install); fi
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
