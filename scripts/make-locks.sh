#!/usr/bin/env bash
# Writes requirements/*.lock: every package that is installed, with its version and the hashes of its files, and constraints.txt,
# the same names and versions for environments that hold more (training, NeMo Guardrails, the benchmark's peer). What is locked
# stays at its version; `make lock ARGS=--upgrade` takes the newest, `ARGS="--upgrade-package NAME"` that of one package.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=${UV:-.venv-supply/bin/uv}
others=(3.12/x86_64-manylinux_2_28 3.13/x86_64-manylinux_2_28 3.13/aarch64-manylinux_2_28)
away=$(mktemp -d)
trap 'rm -rf "$away"' EXIT

compile() {
  "$uv" pip compile --quiet --no-header --no-annotate --no-emit-index-url "$@"
}

# The list is the oldest Python's, with the hashes of all files of each version; where another Python or processor needs more, this stops.
lock() {
  local name=$1 other
  shift
  [ ! -e "requirements/$name.lock" ] || cp "requirements/$name.lock" "$away/$name.lock"
  compile --generate-hashes --python-version 3.11 --python-platform x86_64-manylinux_2_28 --output-file "$away/$name.lock" "$@"
  sed -n 's/^\([A-Za-z0-9_.-]*==[^ ]*\).*/\1/p' "$away/$name.lock" >"$away/pins"
  for other in "${others[@]}"; do
    compile --python-version "${other%/*}" --python-platform "${other#*/}" --constraints "$away/pins" "$@" >"$away/other"
    if grep == "$away/other" | grep -vxFf "$away/pins" >"$away/more"; then
      echo "requirements/$name.lock is made for Python 3.11; $other needs besides: $(cat "$away/more")" >&2
      exit 1
    fi
  done
  {
    echo "# Made by make lock. Names, versions and hashes, nothing else."
    cat "$away/$name.lock"
  } >"requirements/$name.lock"
  echo "requirements/$name.lock: $(wc -l <"$away/pins") packages"
}

without() {
  sed -n 's/^\([A-Za-z0-9_.-]*\)==.*/--no-emit-package \1/p' "$1"
}

# uv would build the project to read them, since its version is dynamic.
"${PYTHON:-python3}" - "$away" <<'PYTHON'
import pathlib
import sys
import tomllib

project = tomllib.loads(pathlib.Path("pyproject.toml").read_text())["project"]
away = pathlib.Path(sys.argv[1])
away.joinpath("runtime.in").write_text("\n".join(project["dependencies"]))
for extra in ("test", "noise", "talk", "postgresql", "redis", "remote", "cluster"):
    away.joinpath(f"{extra}.in").write_text("\n".join(project["optional-dependencies"][extra]))
PYTHON

options=("$@")
lock runtime "${options[@]}" "$away/runtime.in"
# shellcheck disable=SC2046
lock test "${options[@]}" "$away/runtime.in" "$away/test.in" --constraints requirements/runtime.lock $(without requirements/runtime.lock)
# shellcheck disable=SC2046
lock noise "${options[@]}" "$away/noise.in" --constraints requirements/runtime.lock --constraints requirements/test.lock \
  $(without requirements/runtime.lock)
# shellcheck disable=SC2046
lock talk "${options[@]}" "$away/talk.in" --constraints requirements/runtime.lock --constraints requirements/test.lock \
  $(without requirements/runtime.lock)
# shellcheck disable=SC2046
lock postgresql "${options[@]}" "$away/postgresql.in" --constraints requirements/runtime.lock --constraints requirements/test.lock \
  $(without requirements/runtime.lock)
# shellcheck disable=SC2046
lock redis "${options[@]}" "$away/redis.in" --constraints requirements/runtime.lock --constraints requirements/test.lock \
  $(without requirements/runtime.lock)
# shellcheck disable=SC2046
lock remote "${options[@]}" "$away/remote.in" --constraints requirements/runtime.lock --constraints requirements/test.lock \
  $(without requirements/runtime.lock)
# shellcheck disable=SC2046
lock cluster "${options[@]}" "$away/cluster.in" --constraints requirements/runtime.lock --constraints requirements/test.lock \
  $(without requirements/runtime.lock)
lock build "${options[@]}" requirements/build.in --constraints requirements/runtime.lock --constraints requirements/test.lock
lock gpu "${options[@]}" requirements/gpu.in --constraints requirements/runtime.lock
lock supply "${options[@]}" requirements/supply.in
lock docs "${options[@]}" requirements/docs.in
{
  echo "# Exact versions of everything that make setup installs. Made by make lock from requirements/runtime.lock and test.lock."
  sed -n 's/^\([A-Za-z0-9_.-]*==[^ ]*\).*/\1/p' requirements/runtime.lock requirements/test.lock | sort -f
} >constraints.txt
echo "constraints.txt: the versions of runtime.lock and test.lock"
