#!/usr/bin/env bash
# Compares two builds of windlass-bench by interleaved samples: Windlass only, no peers, no JDK.
#
#   scripts/compare-builds.sh [OPTIONS] BASE_BINARY NEW_BINARY WORKLOAD...
#   scripts/compare-builds.sh --rounds 9 /tmp/base/windlass-bench target/release/windlass-bench W1 W8
#
#   --rounds N      samples of each build at each point (default 11)
#   --points REGEX  only points whose text matches, such as 'workers=2,captured=0'
#   --peers REGEX   who is measured (default '^windlass[a-z-]*$', that is every pool of Windlass;
#                   '^windlass' adds those with an addition, such as windlass+hooks)
#   --limit RATIO   exit status 1 if a row is marked `slower` and its ratio is above this
#   --raw FILE      keeps every sample, tab-separated
#
# Each sample is a fresh process (`windlass-bench sample`). Both builds take one sample of each point in
# every round, back to back, and the order within a pair alternates, so drift of the machine hits
# both alike. BASE_BINARY may be built from an older commit: only points and peers that both builds
# list are measured.
#
# Output: for each point the median of both builds, the ratio of the medians (below one: the new
# build is faster, whatever the unit), and the quartiles of the ratios of the pairs. A row is marked
# `slower` or `faster` if the pairs agree on it more than chance would have them (sign test, 5 %, so
# one row in twenty is marked for nothing; fewer than 6 rounds mark none). To see what the noise of
# the machine does, pass the same binary twice.
set -euo pipefail

usage() {
    sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p;}' "$0"
    exit "${1:-2}"
}

rounds=11 points=. peers='^windlass[a-z-]*$' limit= raw=
while [ $# -gt 0 ]; do
    case "$1" in
        --rounds) rounds=$2; shift 2 ;;
        --points) points=$2; shift 2 ;;
        --peers) peers=$2; shift 2 ;;
        --limit) limit=$2; shift 2 ;;
        --raw) raw=$2; shift 2 ;;
        -h | --help) usage 0 ;;
        -*) echo "unknown option $1" >&2; usage ;;
        *) break ;;
    esac
done
[ $# -ge 3 ] || usage
base=$1 new=$2
shift 2
for binary in "$base" "$new"; do
    [ -x "$binary" ] || { echo "$binary is not an executable file" >&2; exit 2; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
samples=$work/samples

# The chosen cells of a build, one a line: workload, point, peer.
cells() {
    "$1" list | awk -v wanted=" $2 " -v points="$points" -v peers="$peers" '
        /^[^ ]/ { workload = $1; next }
        index(wanted, " " workload " ") {
            point = $1
            sub(/:$/, "", point)
            if (point !~ points) next
            for (at = 2; at <= NF; at++) if ($at ~ peers) print workload "\t" point "\t" $at
        }'
}

cells "$base" "$*" >"$work/base"
cells "$new" "$*" | grep -Fxf "$work/base" >"$work/cells" || true
for workload in "$@"; do
    grep -q "^$workload	" "$work/cells" ||
        { echo "no point of $workload is chosen and listed by both builds" >&2; exit 2; }
done
count=$(wc -l <"$work/cells")

# Appends the figures of one sample: workload, point, peer, metric, unit, round, build, value.
sample() {
    local build=$1 binary=$2 figures
    if ! figures=$(timeout 120 "$binary" sample "$workload" "$point" "$peer" 2>"$work/stderr"); then
        echo "$build failed at $workload $point $peer:" >&2
        cat "$work/stderr" >&2
        exit 1
    fi
    awk -F '\t' -v OFS='\t' -v cell="$workload	$point	$peer" -v round="$round" -v build="$build" '
        NF == 3 && $3 != "count" { print cell, $1, $3, round, build, $2 }' <<<"$figures" >>"$samples"
}

echo "$count points, $rounds rounds; base $base, new $new; load $(cut -d' ' -f1-3 /proc/loadavg)" >&2
for ((round = 1; round <= rounds; round++)); do
    while IFS=$'\t' read -r workload point peer <&3; do
        if ((round % 2)); then
            sample base "$base"
            sample new "$new"
        else
            sample new "$new"
            sample base "$base"
        fi
    done 3<"$work/cells"
    printf 'round %s of %s (%s s)\n' "$round" "$rounds" "$SECONDS" >&2
done
[ -z "$raw" ] || cp "$samples" "$raw"

# Quantiles need sorted values; mawk has no sort, so insertion is done by hand.
awk -F '\t' -v limit="$limit" '
    function insert(list, n, value,   at) {
        for (at = n; at > 0 && list[at] > value; at--) list[at + 1] = list[at]
        list[at + 1] = value
    }
    function quantile(list, n, share,   place, low) {
        place = 1 + share * (n - 1)
        low = int(place)
        return low >= n ? list[n] : list[low] + (place - low) * (list[low + 1] - list[low])
    }
    # The probability that chance alone brings so many of n pairs, or more, to either side.
    function chance(n, many,   k, term, sum) {
        term = 0.5 ^ n
        for (k = 0; k <= n; k++) {
            if (k >= many) sum += term
            term *= (n - k) / (k + 1)
        }
        return 2 * sum
    }
    {
        key = $1 FS $2 FS $3 FS $4 FS $5
        if (!(key in seen)) { seen[key] = 1; order[++keys] = key }
        value[key, $6, $7] = $8
        if ($6 > last) last = $6
    }
    END {
        for (k = 1; k <= keys; k++) {
            key = order[k]
            split(key, part, FS)
            n = slower = faster = 0
            for (round = 1; round <= last; round++) {
                if (!((key, round, "base") in value && (key, round, "new") in value)) continue
                b = value[key, round, "base"] + 0
                c = value[key, round, "new"] + 0
                if (b <= 0 || c <= 0) continue
                insert(bases, n, b)
                insert(news, n, c)
                ratio = part[5] == "%" ? b / c : c / b
                insert(ratios, n, ratio)
                slower += ratio > 1
                faster += ratio < 1
                n++
            }
            if (n == 0) continue
            b = quantile(bases, n, 0.5)
            c = quantile(news, n, 0.5)
            ratio = part[5] == "%" ? b / c : c / b
            low = quantile(ratios, n, 0.25)
            high = quantile(ratios, n, 0.75)
            mark = chance(n, slower) < 0.05 ? "slower" : chance(n, faster) < 0.05 ? "faster" : ""
            if (part[1] != workload) {
                workload = part[1]
                printf "\n%s\n  %-18s %-50s %-22s %10s %10s %6s  %s\n", workload, "who", "point", \
                    "metric", "base", "new", "ratio", "quartiles"
            }
            printf "  %-18s %-50s %-22s %10.4g %10.4g %6.3f  %.3f .. %.3f %s\n", part[3], part[2], \
                part[4] ", " part[5], b, c, ratio, low, high, mark
            logs[workload] += log(ratio)
            cells[workload]++
            if (limit != "" && ratio > limit + 0 && mark == "slower")
                over[++overs] = part[1] " " part[2] " " part[3]
        }
        print ""
        for (workload in cells) {
            printf "%s: geometric mean of %d ratios %.3f\n", workload, cells[workload], \
                exp(logs[workload] / cells[workload]) | "sort -V"
        }
        close("sort -V")
        for (at = 1; at <= overs; at++) print "above " limit ": " over[at]
        exit overs > 0
    }' "$samples"
