# shellcheck shell=bash
# Finds a Python that is new enough for the agents that need 3.13. Debian 12 has none.

# Prints the interpreter, or fails.
python313() {
  local candidate
  for candidate in "$(command -v python3.13)" /usr/bin/python3 "$HOME"/.pyenv/versions/3.13*/bin/python; do
    if [ -x "$candidate" ] && "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 13))' 2>/dev/null; then
      readlink -f "$candidate"
      return 0
    fi
  done
  return 1
}
