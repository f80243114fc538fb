#!/bin/sh
# Installs PostgreSQL where there is none. Quick when there is nothing to do.
set -eu

found() {
    ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1 || command -v initdb > /dev/null
}

if found; then exit 0; fi
if [ "$(id -u)" != 0 ]; then
    echo "please install: apt-get install postgresql" >&2
    exit 1
fi
# The tests make a cluster of their own: none needs to run beside it.
if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    mkdir -p /etc/postgresql-common
    echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.conf
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql > /dev/null
found
