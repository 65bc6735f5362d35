#!/usr/bin/env bash
# Builds the guide as a static site in target/guide, checks that each of its links leads somewhere, and looks at it in a
# browser: every page opens, every picture is there, the search finds something.
#
#   scripts/guide.sh           # build and check
#   scripts/guide.sh --open    # the same, then look at it
#
# Needs mdBook; if there is none, the version below is built into target/tools (TOOLS names another folder, so that several
# checkouts share it). Needs chromium for the last check (BROWSER_CHECK=no leaves it out). The snippets are compiled and run
# by `cargo test -p windlass-guide`.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly VERSION=0.5.4
readonly REPOSITORY=https://github.com/windlass-rs/windlass
readonly SITE=target/guide
readonly TOOLS=${TOOLS:-target/tools}

mdbook=$(command -v mdbook || true)
if [[ -z "$mdbook" ]]; then
  mdbook=$TOOLS/bin/mdbook
  if [[ ! -x "$mdbook" ]]; then
    # Without optimisation, since it runs for a second only.
    CARGO_PROFILE_RELEASE_OPT_LEVEL=0 cargo install mdbook --version "$VERSION" --locked --no-default-features \
      --features search --root "$TOOLS"
  fi
fi

rm -rf "$SITE"
"$mdbook" build docs/guide

# Marks short code in a line of text, which the style sheet keeps on one line. A block of code has a class already.
find "$SITE" -name '*.html' -print0 |
  xargs -0 sed -i -E 's|<code>([^<]{1,24})</code>|<code class="short">\1</code>|g'

# Links to files outside the guide lead to the repository. mdBook has made `.html` of their `.md`, and nobody but this
# loop would notice a file that is missing there.
dead=0
while IFS= read -r link; do
  path=${link#../../}
  file=${path%%#*}
  heading=${path#"$file"}
  if [[ "$file" == *.html && -f "${file%.html}.md" ]]; then
    file=${file%.html}.md
  fi
  kind=blob
  if [[ -d "$file" ]]; then
    kind=tree
  elif [[ ! -f "$file" ]]; then
    echo "$link: the repository has no such file" >&2
    dead=$((dead + 1))
  fi
  find "$SITE" -name '*.html' -print0 |
    xargs -0 sed -i "s|href=\"$link\"|href=\"$REPOSITORY/$kind/main/$file$heading\"|g"
done < <(grep -rhoE --include='*.html' 'href="\.\./\.\./[^"]+"' "$SITE" | sed -E 's/^href="(.*)"$/\1/' | sort -u)

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

# A page that opens the others in a frame, one by one, and writes down what is wrong with them.
look() {
  local pages=$1 page=$SITE/look.html answer
  cat >"$page" <<HTML
<!doctype html><title>look</title><pre id="answer"></pre>
<script>
const wrong = [];
let pictures = 0;
const until = async (condition, limit = 20000) => {
  for (let waited = 0; waited < limit; waited += 50) {
    if (condition()) return true;
    await new Promise(resume => setTimeout(resume, 50));
  }
  return false;
};
const open = address => new Promise(resume => {
  document.querySelector("iframe")?.remove();
  const frame = document.createElement("iframe");
  frame.onload = () => resume(frame.contentDocument);
  frame.src = address;
  document.body.append(frame);
});
(async () => {
  for (const address of [$pages]) {
    const page = await open(address);
    if (!page.querySelector("main h1")) wrong.push(address + ": no heading");
    for (const picture of page.images) {
      pictures += 1;
      picture.loading = "eager";
      if (!await until(() => picture.complete) || picture.naturalWidth === 0)
        wrong.push(address + ": no picture " + picture.getAttribute("src"));
    }
  }
  const page = await open("index.html?search=starvation");
  const found = () => [...page.querySelectorAll("[id\$=searchresults] a")];
  if (!await until(() => found().some(link => link.href.includes("starvation.html"))))
    wrong.push("a search for starvation does not find its page");
  if (pictures === 0) wrong.push("no page has a picture");
  answer.textContent = wrong.length ? wrong.join("\n") : "OK: every page opens, " + pictures + " pictures are shown, the search finds";
})();
</script>
HTML
  answer=$(timeout 120 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
    --allow-file-access-from-files --virtual-time-budget=100000 --dump-dom "file://$PWD/$page" 2>/dev/null |
    sed -zE 's|.*<pre id="answer">([^<]*)</pre>.*|\1|')
  rm "$page"
  echo "in the browser: ${answer:-nothing}"
  [[ "$answer" == "OK: "* ]]
}

if [[ "${BROWSER_CHECK:-yes}" == yes ]]; then
  pages=$(cd "$SITE" && find . -maxdepth 1 -name '*.html' ! -name toc.html ! -name 404.html ! -name print.html -printf '"%f",')
  look "$pages"
fi
echo "the guide is in $SITE/index.html, all links lead somewhere"
if [[ "${1-}" == --open ]]; then
  "${BROWSER:-xdg-open}" "$SITE/index.html"
fi
