# shellcheck shell=bash
# Installs Debian packages for scripts/setup. Adds packages and never upgrades the system.

# Succeeds if a program is installed.
has() { # PROGRAM
  case $1 in
    python3) [ -x "$python" ] ;;
    venv)
      compgen -G "$system/usr/lib/python3*/ensurepip/__init__.py" >/dev/null ||
        { [ -x "$python" ] && "$python" -c 'import venv, ensurepip' >>"$logs/probe.log" 2>&1; }
      ;;
    postgres) compgen -G "$system/usr/lib/postgresql/*/bin/initdb" >/dev/null || [ -n "$(command -v initdb)" ] ;;
    pgbouncer) [ -x "$system/usr/sbin/pgbouncer" ] || [ -n "$(command -v pgbouncer)" ] ;;
    chromium) [ -x "$system/usr/bin/chromium" ] || [ -x "$system/usr/bin/chromium-browser" ] ;;
    *) [ -n "$(command -v "$1")" ] ;;
  esac
}

# Prints the packages that contain a program.
package_of() { # PROGRAM
  case $1 in
    cc) echo gcc libc6-dev ;;
    c++) echo g++ ;;
    bwrap) echo bubblewrap ;;
    ssh-keygen) echo openssh-client ;;
    venv) echo python3-venv ;;
    node) echo nodejs ;;
    go) echo golang-go ;;
    postgres) echo postgresql ;;
    ip) echo iproute2 ;;
    dropbear) echo dropbear-bin ;;
    *) echo "$1" ;;
  esac
}

is_installed() { # PACKAGE
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>>"$logs/probe.log")" = installed ]
}

# Completes an interrupted installation, then installs the missing packages in one step.
install_packages() { # PROGRAM...
  local program package missing=() absent=() half=''
  for program in $(printf '%s\n' "$@" | sort -u); do
    has "$program" || { absent+=("$program") && missing+=($(package_of "$program")); }
  done
  for package in ${WINDLASS_SETUP_EXTRA:-}; do
    is_installed "$package" || missing+=("$package")
  done
  if [ -z "$(command -v apt-get)" ] || [ -z "$(command -v dpkg)" ]; then
    [ ${#missing[@]} -eq 0 ] || problem "missing: ${absent[*]}. apt-get is not available: install them manually"
    return
  fi
  half=$(half_installed "$@")
  if [ ${#missing[@]} -eq 0 ] && [ -z "$half" ]; then return 0; fi
  if [ "$(id -u)" -ne 0 ]; then
    ask_root "$half" "${missing[@]}"
    return
  fi
  if [ -n "$half" ]; then
    say "completing an interrupted installation"
    run packages dpkg --configure -a 9>&-
  fi
  if [ ${#missing[@]} -gt 0 ]; then add_packages "${missing[@]}" 9>&-; fi
  for program in "${absent[@]}"; do
    has "$program" || problem "$program is still missing, although $(package_of "$program") was installed"
  done
}

# Prints "half" if dpkg was interrupted, or if one of the packages is unpacked but not configured.
half_installed() { # PROGRAM...
  local package
  for package in $(for program in "$@"; do package_of "$program"; done) ${WINDLASS_SETUP_EXTRA:-}; do
    case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>>"$logs/probe.log") in
      unpacked | half-* | triggers-*) echo half && return ;;
    esac
  done
  [ -z "$(compgen -G "$system/var/lib/dpkg/updates/[0-9]*")" ] || echo half
}

# Prints the command that an ordinary user must run as root.
ask_root() { # HALF PACKAGE...
  local line=''
  [ -z "$1" ] || line='dpkg --configure -a'
  shift
  if [ $# -gt 0 ]; then
    [ -z "$line" ] || line+=' && '
    [ -n "$(package_lists)" ] || line+='apt-get update && '
    line+="apt-get install --no-install-recommends $*"
  fi
  problem "run this as root, then this script again:"
  printf '%s\n' "$line" >&2
}

# Prints the package lists that have been fetched; with `-mmin -60`, within the last hour.
package_lists() {
  find "$system/var/lib/apt/lists" -maxdepth 1 -name '*Release' "$@" 2>>"$logs/probe.log"
}

add_packages() { # PACKAGE...
  local options=(--no-install-recommends --no-upgrade -o DPkg::Lock::Timeout=120)
  if [ -z "$(package_lists -mmin -60)" ]; then
    run packages apt-get update
    # Unchanged lists keep their modification time: record that they were checked.
    package_lists -exec touch {} +
  fi
  run packages apt-get install --simulate "${options[@]}" "$@"
  leaves_system_alone "$@"
  if [[ " $* " == *" postgresql "* ]] && [ ! -e "$system/etc/postgresql-common/createcluster.conf" ]; then
    # The tests create their own cluster, so the default cluster is not needed.
    mkdir -p "$system/etc/postgresql-common"
    echo 'create_main_cluster = false' >"$system/etc/postgresql-common/createcluster.conf"
  fi
  say "installing $*"
  run packages apt-get install --yes --quiet "${options[@]}" "$@"
}

# Fails if the simulation removes a package, or upgrades a package of the base system, and says how to go on.
leaves_system_alone() { # PACKAGE...
  local verb name version removed=() upgraded=()
  while read -r verb name version; do
    if [ "$verb" = Remv ]; then
      removed+=("$name")
    elif [[ $version == \[* ]] && is_base "$name"; then
      upgraded+=("$name")
    fi
  done < <(grep -E '^(Inst|Remv) ' "$logs/packages.log" | cut -d ' ' -f 1-3 | sort -u)
  if [ ${#removed[@]} -gt 0 ]; then
    problem "not installed: $*. apt-get would remove ${removed[*]}: install them manually"
  elif [ ${#upgraded[@]} -gt 0 ]; then
    problem "not installed: $*. apt-get would also upgrade ${upgraded[*]}, which belong to the base system." \
      "Upgrade them yourself, then run this script again:"
    printf 'apt-get install --only-upgrade %s\n' "${upgraded[*]}" >&2
  fi
  [ $((${#removed[@]} + ${#upgraded[@]})) -eq 0 ]
}

is_base() { # PACKAGE
  dpkg-query -W -f '${Essential} ${Priority}\n' "$1" 2>>"$logs/probe.log" | grep -qE '^yes|required|important'
}
