#!/bin/sh
# Installs the real programs that the tests run: `setup.sh sdk|sdk-python|sdk-node|agents|agents-full|agents-acp …`, into .cache at the top of the repository.
# What is already there in the pinned version is left alone.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=$(cd "$here/../../.." && pwd)/.cache
# The clients of the gateway, with which `windlass serve` is tested too.
clients=$here/../../windlass/tests/sdk
mkdir -p "$cache"

# One at a time: tests run side by side.
exec 9>"$cache/setup.lock"
flock 9

# fresh FOLDER FILE: whether FOLDER was made from FILE as it is now.
fresh() {
    cmp -s "$cache/$1/.made-from" "$2"
}

# python FOLDER LIST: exact versions of everything, so that nothing has to be resolved.
python() {
    fresh "$1" "$2" && return
    rm -rf "${cache:?}/$1"
    python3 -m venv "$cache/$1"
    "$cache/$1/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps -r "$2" >&2
    cp "$2" "$cache/$1/.made-from"
}

# agents FOLDER SOURCE: exact versions, so that npm cannot take an older one that asks for an older Node.
agents() {
    fresh "$1" "$2/package.json" && return
    rm -rf "${cache:?}/$1"
    mkdir -p "$cache/$1"
    cp "$2"/package*.json "$cache/$1/"
    (cd "$cache/$1" && npm install --no-audit --no-fund --omit-lockfile-registry-resolved --loglevel=error >&2)
    cp "$2/package.json" "$cache/$1/.made-from"
}

for what in "$@"; do
    case $what in
        sdk) python venv-sdk "$here/sdk/requirements.txt" ;;
        sdk-python) python sdk-python "$clients/requirements.txt" ;;
        sdk-node) agents sdk-node "$clients" ;;
        agents) agents agents "$here/agents" ;;
        agents-full) agents agents-full "$here/agents/full" ;;
        agents-acp) agents agents-acp "$here/agents/acp" ;;
        *) echo "setup.sh: unknown: $what" >&2; exit 2 ;;
    esac
done
