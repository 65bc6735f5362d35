#!/bin/sh
# Takes the pictures of the console for the guide, docs/guide/images/console-*.png, and makes them small.
#
#   scripts/console-pictures.sh
#
# Needs what the tests of the page need, and pngquant and optipng (on Debian: apt-get install chromium
# chromium-driver pngquant optipng). They show pools that were made for them, on a host of another name.
set -eu
cd "$(dirname "$0")/.."
for program in chromium chromedriver pngquant optipng; do
    command -v "$program" > /dev/null || { echo "needs $program" >&2; exit 1; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
WINDLASS_PICTURES=$folder cargo test -p windlass-console --test browser pictures::pictures -- --ignored --exact
for picture in "$folder"/console-*.png; do
    pngquant --force --speed 1 --quality 70-95 --output "$picture" "$picture"
    optipng -quiet -o4 -strip all "$picture"
    cp "$picture" docs/guide/images/
done
ls -l docs/guide/images/console-*.png
