#!/bin/sh
# Installs what drives the browser, at the version that package.json names, into .cache/browser at the top of the repository.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=$(cd "$here/../../../.." && pwd)/.cache
place=$cache/browser
cmp -s "$place/.made-from" "$here/package.json" && exit 0

mkdir -p "$cache"
exec 9>"$cache/setup.lock"
flock 9
rm -rf "$place"
mkdir -p "$place"
cp "$here"/package*.json "$place/"
(cd "$place" && npm ci --no-audit --no-fund --loglevel=error >&2)
cp "$here/package.json" "$place/.made-from"
