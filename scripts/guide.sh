#!/usr/bin/env bash
# Builds the guide as a static site in target/guide, and checks that each of its links leads somewhere.
#
#   scripts/guide.sh           # build and check
#   scripts/guide.sh --open    # the same, then look at it
#
# Needs mdBook; if there is none, the version below is built into target/tools. The snippets are compiled and run by
# `cargo test -p windlass-guide`.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly VERSION=0.5.4
readonly REPOSITORY=https://github.com/windlass-rs/windlass/blob/main
readonly SITE=target/guide

mdbook=$(command -v mdbook || true)
if [[ -z "$mdbook" ]]; then
  mdbook=target/tools/bin/mdbook
  if [[ ! -x "$mdbook" ]]; then
    cargo install mdbook --version "$VERSION" --locked --no-default-features --features search --root target/tools
  fi
fi

rm -rf "$SITE"
"$mdbook" build docs/guide

# Links to files outside the guide lead to the repository. In the pages they are relative, and so checked by
# crates/windlass/tests/doc_links.rs.
find "$SITE" -name '*.html' -print0 | xargs -0 sed -i -E "s#(href=\")\.\./\.\./#\1$REPOSITORY/#g"

dead=0
while IFS=: read -r page link; do
  file=${link%%[#?]*}
  if [[ -n "$file" && ! -e "$(dirname "$page")/$file" ]]; then
    echo "$page: $link leads nowhere" >&2
    dead=$((dead + 1))
  fi
  name=${link#*#}
  if [[ "$link" == *'#'* && -n "$name" ]]; then
    target=$page
    [[ -z "$file" ]] || target=$(dirname "$page")/$file
    if [[ -f "$target" ]] && ! grep -qF "id=\"$name\"" "$target"; then
      echo "$page: $link has no such heading" >&2
      dead=$((dead + 1))
    fi
  fi
done < <(grep -roE --include='*.html' '(href|src)="[^"]+"' "$SITE" \
  | grep -vE '="(https?:|mailto:|data:|/|javascript:)' \
  | sed -E 's/:(href|src)="([^"]*)"$/:\2/' | sort -u)
if ((dead > 0)); then
  echo "$dead dead links" >&2
  exit 1
fi
echo "the guide is in $SITE/index.html, all links lead somewhere"
if [[ "${1-}" == --open ]]; then
  "${BROWSER:-xdg-open}" "$SITE/index.html"
fi
