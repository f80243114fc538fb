# shellcheck shell=bash
# Runs the tools for scripts/setup: logs them, retries network failures, and shows the end of the log on failure.

problems=0
# Not 0 if the last call of `attempt` failed.
failed=0
logs=$cache/setup

say() { printf 'setup: %s\n' "$*"; }

# Reports a problem: setup fails at its end.
problem() {
  problems=$((problems + 1))
  printf 'setup: %s\n' "$*" >&2
}

# Calls a function that stops at its first failing command; a failure counts as a problem.
attempt() { # FUNCTION ARGUMENT...
  set +e
  (
    set -e
    problems=0
    "$@"
    [ "$problems" -eq 0 ]
  )
  failed=$?
  set -e
  [ "$failed" -eq 0 ] || problems=$((problems + 1))
}

# Takes the lock, so that only one setup runs at a time, and clears the logs.
start_logs() {
  if ! mkdir -p "$logs" || ! [ -w "$cache" ] || ! [ -w "$logs" ]; then
    problem "$cache belongs to another user: give it to $(id -un), or remove it"
    exit 1
  fi
  exec 9>"$logs/lock"
  flock -n 9 || { say "waiting for another setup to finish" && flock 9; }
  rm -f "$logs"/*.log
}

# Succeeds if a retry can help: the log contains a network error and no permanent error.
is_transient() { # LOG
  local permanent='no space left|ENOSPC|permission denied|EACCES|404 +not found|E404|unable to locate package'
  local network='temporary failure|could not resolve|could not connect|connection (failed|timed out|reset|refused|aborted|broken)'
  network+='|network is unreachable|timed? ?out|ECONN(RESET|REFUSED|ABORTED)|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|socket hang up'
  network+='|hash sum mismatch|incompleteread|unexpected eof|429 too many|E429|50[0234] +[a-z]|E50[0234]'
  ! grep -qiE "$permanent" "$1" && grep -qiE "$network" "$1"
}

# Runs a command with its output in a log. If it fails, shows the last lines.
run() { # PART COMMAND...
  local log=$logs/$1.log code=0 try
  shift
  for try in 1 2; do
    printf '$ %s\n' "$*" >"$log.try"
    code=0
    "$@" </dev/null >>"$log.try" 2>&1 || code=$?
    cat "$log.try" >>"$log"
    [ "$code" -ne 0 ] || break
    if [ "$try" -eq 2 ] || ! is_transient "$log.try"; then break; fi
    say "'$1' failed because of the network; retrying"
    sleep "${WINDLASS_SETUP_PAUSE:-5}"
  done
  if [ "$code" -ne 0 ]; then
    problem "this command ended with exit code $code; its output is in $log, which ends:"
    { printf '$ %s\n' "$*" && tail -n +2 "$log.try" | tail -n 15; } | sed 's/^/  /' >&2
  fi
  rm -f "$log.try"
  return "$code"
}
