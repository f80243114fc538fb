#!/bin/sh
# PostgreSQL for the tests: one cluster for all test processes, in its own directory, on a Unix socket only.
#
#   postgres.sh start STATE [SETTING=VALUE ...]   starts the cluster unless it runs; prints the socket's directory
#   postgres.sh restart STATE                     stops it immediately, as in a crash, and starts it again
#   postgres.sh pooler STATE NAME [SETTING=VALUE ...]
#                                                 starts a PgBouncer in front of it; prints its port, in the same directory
#
# Every test process holds a shared lock on STATE/users. When no process holds it any more, the guard stops and removes
# the cluster. A lock is released when its process ends, however it ends.
set -eu

what=$1
state=$2
shift 2

bin=$(ls -d /usr/lib/postgresql/*/bin 2> /dev/null | sort -V | tail -n 1)
[ -n "$bin" ] || bin=$(dirname "$(command -v initdb || true)")
if [ ! -x "$bin/initdb" ]; then
    echo "PostgreSQL is missing: run scripts/setup --only postgres" >&2
    exit 1
fi

# PostgreSQL refuses to run as root. Installations other than Debian's may have no postgres user.
owner=postgres
id "$owner" > /dev/null 2>&1 || owner=nobody
as_owner() {
    if [ "$(id -u)" = 0 ]; then
        runuser -u "$owner" -- "$@"
    else
        "$@"
    fi
}

control() { # HOME ARGUMENTS...
    home=$1
    shift
    (cd "$home" && as_owner "$bin/pg_ctl" -D "$home/data" "$@" > /dev/null 2>> "$home/control.log")
}

is_alive() { # HOME
    [ -d "$1/data" ] && control "$1" status
}

remove() { # HOME
    for file in "$1"/pooler-*.pid; do
        [ ! -f "$file" ] || kill "$(cat "$file")" 2> /dev/null || true
    done
    if is_alive "$1"; then control "$1" -m immediate -w stop || true; fi
    case "$1" in /tmp/windlass-pg.*) rm -rf "$1" ;; esac
}

launch() { # HOME
    control "$1" -w -t 60 -l "$1/log" -o "$(cat "$1/options")" start 9>&- 8>&-
}

start() {
    if [ -f "$state/home" ]; then
        home=$(cat "$state/home")
        if is_alive "$home"; then
            echo "$home"
            return
        fi
        remove "$home"
    fi
    home=$(mktemp -d /tmp/windlass-pg.XXXXXX)
    [ "$(id -u)" != 0 ] || chown "$owner" "$home"
    (cd "$home" && as_owner "$bin/initdb" --no-sync -D "$home/data" -U postgres -A trust -E UTF8 --locale=C \
        > "$home/initdb.log" 2>&1) || { cat "$home/initdb.log" >&2; exit 1; }
    options="-c listen_addresses='' -c unix_socket_directories=$home -c max_connections=300 -c shared_buffers=32MB"
    options="$options -c fsync=off -c full_page_writes=off -c log_min_messages=error"
    for setting in "$@"; do options="$options -c $setting"; done
    echo "$options" > "$home/options"
    launch "$home" || { cat "$home/log" "$home/control.log" >&2; exit 1; }
    echo "$home" > "$state/home"
    setsid "$0" guard "$state" < /dev/null > /dev/null 2>&1 8>&- 9>&- &
    echo "$home"
}

# Several clients share a few connections, in turn: a client that relies on its session soon gets another one.
pooler() { # NAME SETTING=VALUE...
    home=$(cat "$state/home")
    name=$1
    shift
    if [ -f "$home/pooler-$name.pid" ] && kill -0 "$(cat "$home/pooler-$name.pid")" 2> /dev/null; then
        cat "$home/pooler-$name.port"
        return
    fi
    bouncer=$(command -v pgbouncer || command -v /usr/sbin/pgbouncer) || {
        echo "PgBouncer is missing: run scripts/setup --only postgres" >&2
        exit 1
    }
    # The port is only a part of the socket's name.
    port=$((6432 + $(find "$home" -name 'pooler-*.port' | wc -l)))
    {
        echo "[databases]"
        echo "* = host=$home user=postgres"
        echo "[pgbouncer]"
        printf '%s\n' listen_addr= "listen_port=$port" "unix_socket_dir=$home" auth_type=any "logfile=$home/pooler-$name.log" \
            "pidfile=$home/pooler-$name.pid" max_client_conn=500 default_pool_size=4 server_round_robin=1 log_connections=0 \
            log_disconnections=0 "$@"
    } > "$home/pooler-$name.ini"
    as_owner touch "$home/pooler-$name.log"
    as_owner "$bouncer" -q -d "$home/pooler-$name.ini" 9>&- 8>&- || { cat "$home/pooler-$name.log" >&2; exit 1; }
    # It opens its socket after the program in the foreground has ended.
    waited=0
    until [ -S "$home/.s.PGSQL.$port" ]; do
        waited=$((waited + 1))
        [ "$waited" -lt 600 ] || { cat "$home/pooler-$name.log" >&2; exit 1; }
        sleep 0.1
    done
    echo "$port" | tee "$home/pooler-$name.port"
}

# Waits until no process uses the cluster, also not within the next two seconds.
guard() {
    exec 8> "$state/users"
    while :; do
        flock -x 8
        flock -u 8
        sleep 2
        flock 9
        if flock -n -x 8; then
            remove "$(cat "$state/home")"
            rm -f "$state/home"
            return
        fi
        flock -u 9
    done
}

mkdir -p "$state"
exec 9> "$state/lock"
case $what in
    start)
        flock 9
        start "$@"
        ;;
    restart)
        home=$(cat "$state/home")
        control "$home" -m immediate -w stop
        launch "$home"
        ;;
    pooler)
        flock 9
        pooler "$@"
        ;;
    guard) guard ;;
    *)
        echo "postgres.sh: unknown: $what" >&2
        exit 2
        ;;
esac
