#!/usr/bin/env bash
# The Python binding.
#   python.sh build                 a wheel with the library inside, in build/python/wheel
#   python.sh test [folder]         installs it in build/python/venv; its tests, and plyvel's own;
#                                   results go to <folder>/python-tests.xml
#   python.sh bench [option]        ns a call beside plyvel
# PYTHON names the interpreter (default: python3). What is fetched comes from PyPI by pip.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly out=$PWD/build/python
readonly venv=$out/venv
readonly plyvel_version=1.5.1

die() {
  echo "python.sh: $*" >&2
  exit 1
}

# An interpreter that can make virtual environments; Debian's, if the first on the path can't.
find_python() {
  local candidate
  for candidate in ${PYTHON:+"$PYTHON"} ${PYTHON:-python3 /usr/bin/python3}; do
    if "$candidate" -c 'import ensurepip, venv' >/dev/null 2>&1; then
      echo "$candidate"
      return
    fi
  done
  die "${PYTHON:-python3} makes no virtual environments: install python3-venv ('scripts/setup.sh python')"
}

# fetch <what for> <argument of pip>...
fetch() {
  local purpose=$1
  shift
  if ! "$venv/bin/python" -m pip --disable-pip-version-check --quiet "$@" >"$out/pip.log" 2>&1; then
    tail -n 5 "$out/pip.log" >&2
    die "pip could not fetch $purpose: is PyPI, or the index that pip is set to, within reach? All it said is in build/python/pip.log"
  fi
}

# Makes the environment, anew when the interpreter is another.
make_venv() {
  local python wanted
  mkdir -p "$out"
  python=$(find_python)
  wanted=$("$python" -c 'import sys; print(sys.base_prefix, sys.version)')
  if [ ! -f "$venv/made-with" ] || [ "$(cat "$venv/made-with")" != "$wanted" ]; then
    rm -rf "$venv" "$out/cmake"
    "$python" -m venv "$venv"
    printf '%s\n' "$wanted" >"$venv/made-with"
  fi
}

# Installs requirements once: stamped <name> <requirement>...
stamped() {
  local stamp=$venv/installed-$1 purpose=$1
  shift
  [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$*" ] && return
  fetch "what the $purpose needs ($*)" install "$@"
  printf '%s\n' "$*" >"$stamp"
}

# The pinned requirements of a list in pyproject.toml, which stands on one line: pins <key>
pins() { sed -n "s/^$1 = \[\(.*\)\]\$/\1/p" bindings/python/pyproject.toml | tr -d '",'; }

build() {
  make_venv
  # shellcheck disable=SC2046 # one word a requirement
  stamped build $(pins requires)
  bash scripts/build.sh release braid_static
  rm -rf "$out/wheel"
  # Without isolation, so that what was built before is used again.
  if ! CMAKE_BUILD_PARALLEL_LEVEL=${BRAID_JOBS:-$(nproc)} SKBUILD_BUILD_DIR=$out/cmake \
    SKBUILD_CMAKE_DEFINE="BRAID_LIBRARY=$PWD/build/release/lib/libbraid.a" \
    "$venv/bin/python" -m pip --disable-pip-version-check wheel --no-build-isolation --no-deps \
    --no-index --wheel-dir "$out/wheel" bindings/python >"$out/wheel.log" 2>&1; then
    tail -n 40 "$out/wheel.log" >&2
    die "the wheel could not be built; all of it is in build/python/wheel.log"
  fi
  echo "$(cd "$out/wheel" && ls ./*.whl | sed "s,^\.,build/python/wheel,")"
}

install_wheel() {
  "$venv/bin/python" -m pip --disable-pip-version-check --quiet install --no-index --no-deps \
    --force-reinstall "$out"/wheel/*.whl
}

# plyvel's own test-suite, of its source distribution.
fetch_plyvel_tests() {
  local folder=$out/plyvel-$plyvel_version
  [ -s "$folder/test_plyvel.py" ] && return
  fetch "the source of plyvel, for its tests" download --no-deps --no-binary plyvel \
    --dest "$out/sdist" "plyvel==$plyvel_version"
  mkdir -p "$folder"
  tar -xzf "$out/sdist/plyvel-$plyvel_version.tar.gz" -C "$folder" --strip-components=2 \
    "plyvel-$plyvel_version/test/test_plyvel.py"
}

run_tests() {
  local results=${1:-build/python} scratch code=0
  build
  # shellcheck disable=SC2046
  stamped test $(pins test)
  install_wheel
  fetch_plyvel_tests
  scratch=$(mktemp -d "${BRAID_TMP:-${TMPDIR:-/tmp}}/braid-python-XXXXXX")
  # shellcheck disable=SC2064 # this folder, not another of that name
  trap "rm -rf '$scratch'" EXIT
  TMPDIR=$scratch PYTHONDONTWRITEBYTECODE=1 "$venv/bin/python" -m pytest -q \
    -c bindings/python/pyproject.toml -p no:cacheprovider --basetemp "$scratch/pytest" \
    --junitxml "$PWD/$results/python-tests.xml" \
    bindings/python/tests "$out/plyvel-$plyvel_version" || code=$?
  return "$code"
}

bench() {
  build
  install_wheel
  fetch "plyvel, to measure beside it" install "plyvel==$plyvel_version"
  "$venv/bin/python" bindings/python/tests/bench.py "$@"
}

command=${1:-}
[ $# -eq 0 ] || shift
case "$command" in
  build) build ;;
  test) run_tests "$@" ;;
  bench) bench "$@" ;;
  *) die "unknown part '$command': use build, test or bench" ;;
esac
