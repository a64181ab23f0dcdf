#!/bin/sh
# Checks what a set-up needs before anything is built: one line each, and what to do about what is missing.
# usage: preflight.sh PYTHON
python=$1 failed=
pass() { printf '  ok       %s\n' "$1"; }
fail() { printf '  missing  %s\n' "$1" >&2; failed=1; }

if ! command -v "$python" >/dev/null 2>&1; then
  fail "Python 3.11 or newer: install it (Debian: apt-get install python3 python3-venv), or name one: make PYTHON=python3.12"
elif ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  fail "Python 3.11 or newer: $python is $("$python" -c 'import platform; print(platform.python_version())'). Name a newer one: make PYTHON=python3.12"
else
  pass "Python $("$python" -c 'import platform; print(platform.python_version())')"
  if "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    pass "Python's venv module"
  else
    fail "Python's venv module: install it (Debian: apt-get install python3-venv)"
  fi
fi

if [ -w . ]; then pass "this directory can be written"; else fail "write permission for $(pwd)"; fi

free=$(df -Pk . 2>/dev/null | awk 'NR == 2 { print int($4 / 1024) }')
if [ "${free:-2048}" -ge 1536 ]; then
  pass "disk space"
else
  fail "disk space: ${free} MB are free here, 1,536 MB are needed"
fi

node=$(node --version 2>/dev/null) && command -v npm >/dev/null 2>&1 || node=
if [ -n "$node" ]; then pass "Node ${node#v}, if it is new enough"; else pass "Node: none here, it comes as a Python package"; fi

[ -z "$failed" ] || { echo "Nothing was built. Install what is missing, then run make again." >&2; exit 1; }
