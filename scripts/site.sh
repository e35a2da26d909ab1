#!/usr/bin/env bash
# Builds the site of docs/ into build/site/html: static pages with search, light and dark, and the API
# references of C, C++, Python and Java. No page needs the network; search needs a web server.
#   site.sh           build it; a link that leads nowhere fails
#   site.sh serve     build it, then serve it at http://127.0.0.1:PORT (default 8000) until Ctrl-C
# PYTHON names the interpreter (default: python3). The first run fetches MkDocs from PyPI by pip.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly out=$PWD/build/site
readonly venv=$out/venv
readonly wanted=scripts/site/requirements.txt

die() {
  echo "site.sh: $*" >&2
  exit 1
}

case "${1:-}" in
  '' | serve) ;;
  *)
    echo "site.sh: unknown argument '$1': use serve, or none" >&2
    exit 2
    ;;
esac

mkdir -p "$out"
python=${PYTHON:-python3}
"$python" -c 'import ensurepip, venv' >/dev/null 2>&1 || python=/usr/bin/python3
if ! cmp -s "$wanted" "$venv/requirements.txt"; then
  rm -rf "$venv"
  "$python" -m venv "$venv" || die "$python makes no virtual environments: install python3-venv"
  "$venv/bin/python" -m pip --disable-pip-version-check --quiet install -r "$wanted" >"$out/pip.log" 2>&1 ||
    die "pip could not fetch MkDocs: is PyPI, or the index that pip is set to, within reach? All it said is in build/site/pip.log"
  cp "$wanted" "$venv/requirements.txt"
fi

python3 -B scripts/site/stage.py . "$out" || exit 1
NO_MKDOCS_2_WARNING=1 \
  "$venv/bin/mkdocs" --quiet build --strict --clean --config-file "$out/mkdocs.yml" ||
  die "MkDocs found what is named above"

# reference LANGUAGE NAME INPUT...: Doxygen's pages of these headers.
reference() {
  local language=$1 name=$2 folder=$out/html/api/$1
  shift 2
  mkdir -p "$folder"
  {
    printf '# %s {#mainpage}\n\n[All pages of braid](../../index.html)\n\n' "$name"
    if [ "$language" = c ]; then
      printf 'One header: braid/c.h, which is on the page c.h. It is LevelDB'"'"'s C API under another prefix.\n'
    else
      printf 'Begin with braid::DB and braid::Options; braid::Status says what failed, and what to do.\n'
    fi
  } >"$out/main-$language.md"
  {
    cat scripts/site/Doxyfile
    echo "PROJECT_NAME = \"$name\""
    echo "PROJECT_NUMBER = $version"
    echo "OUTPUT_DIRECTORY = $folder"
    echo "INPUT = $* $out/main-$language.md"
    echo "USE_MDFILE_AS_MAINPAGE = $out/main-$language.md"
    [ "$language" != c ] || echo "OPTIMIZE_OUTPUT_FOR_C = YES"
  } >"$out/Doxyfile.$language"
  doxygen "$out/Doxyfile.$language" >"$out/doxygen-$language.log" 2>&1 ||
    die "Doxygen failed: build/site/doxygen-$language.log"
}

version=$(sed -n 's/.*BRAID_VERSION_STRING "\(.*\)"/\1/p' include/braid/version.h)
mapfile -t headers < <(find include/braid -name '*.h' ! -name c.h | sort)
reference cpp "braid for C++" "${headers[@]}"
reference c "braid for C" include/braid/c.h

# The interfaces that the binding implements are Maven's to fetch, and not needed for its comments.
rm -rf "$out/html/api/java"
javadoc -quiet -notimestamp --ignore-source-errors -Xdoclint:none -public -encoding UTF-8 \
  -windowtitle "braid for Java" -d "$out/html/api/java" -sourcepath bindings/java/core/src/main/java \
  io.braid >"$out/javadoc.log" 2>&1 || die "javadoc failed: build/site/javadoc.log"

python3 -B scripts/site/check.py "$out/html"
echo "site: build/site/html/index.html"
if [ "${1:-}" = serve ]; then
  exec python3 -m http.server --bind 127.0.0.1 --directory "$out/html" "${PORT:-8000}"
fi
