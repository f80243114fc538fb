# shellcheck shell=bash
# Creates a clean root from Debian packages, with the settings of this machine's package clients, and runs commands
# in it.

# The prerequisites in the README, besides Rust.
readonly PREREQUISITES=ca-certificates,git,gcc,libc6-dev

# Prints the reason why a clean root cannot be created on this machine, or nothing.
why_no_clean_root() {
  if [ "$(id -u)" -ne 0 ]; then
    echo "root privileges are required"
  elif ! unshare --mount --pid --fork true 2>"$logs/unshare.log"; then
    echo "namespaces are unavailable: $(head -n 1 "$logs/unshare.log")"
  elif ! scripts/setup --only clean-root >"$logs/clean-root.log" 2>&1; then
    echo "mmdebstrap could not be installed: $(tail -n 1 "$logs/clean-root.log")"
  fi
}

# Prints this machine's package sources that belong to its distribution.
sources() {
  local id
  id=$(. /etc/os-release && echo "$ID")
  # shellcheck disable=SC2016
  apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)' "Created-By: Packages" |
    sort -u | while read -r origin rest; do
      [ "${origin,,}" != "$id" ] || echo "deb $rest"
    done
}

make_base() { # FOLDER
  local options=() line
  while read -r line; do
    options+=(--aptopt="$line")
  done < <(apt-config dump | grep -E '^Acquire::(http|https|ftp|Check-Valid-Until|Retries|ForceIPv4)')
  rm -rf --one-file-system "$1"
  sources >"$logs/sources.list"
  mmdebstrap --variant=important --include="$PREREQUISITES" "${options[@]}" \
    "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$1" "$logs/sources.list" || return
  cp -L /etc/resolv.conf /etc/hosts "$1/etc/" && cp -a /etc/ssl/certs/. "$1/etc/ssl/certs/" || return
  copy_file /etc/pip.conf "$1/etc/pip.conf"
  copy_file "${NPM_CONFIG_GLOBALCONFIG:-/etc/npmrc}" "$1/etc/npmrc"
  touch "$1/.complete"
}

copy_file() { # FROM TO
  if [ -e "$1" ]; then
    mkdir -p "$(dirname "$2")"
    cp -L "$1" "$2"
  fi
}

# Copies the base for one user, with that user's settings and a writable cargo directory.
make_root() { # BASE ROOT PERSON
  local home name
  cp -a --reflink=auto "$1" "$2"
  home=$(home_of "$3")
  if [ "$3" != root ]; then
    chroot "$2" useradd --create-home --shell /bin/bash "$3"
  fi
  copy_file "$HOME/.npmrc" "$2$home/.npmrc"
  copy_file "$HOME/.config/pip/pip.conf" "$2$home/.config/pip/pip.conf"
  mkdir -p "$2$cargo_home/bin"
  chmod a+x "$2$(dirname "$cargo_home")"
  copy_file "${CARGO_HOME:-$HOME/.cargo}/config.toml" "$2$cargo_home/config.toml"
  if [ -n "$rustup" ]; then
    for name in rustup cargo rustc rustdoc rustfmt cargo-fmt clippy-driver cargo-clippy; do
      cp -L "$rustup" "$2$cargo_home/bin/$name"
    done
  fi
  if [ -z "$cold" ] && [ -d "${CARGO_HOME:-$HOME/.cargo}/registry/cache" ]; then
    mkdir -p "$2$cargo_home/registry"
    cp -a --reflink=auto "${CARGO_HOME:-$HOME/.cargo}/registry/"{cache,index} "$2$cargo_home/registry/"
  fi
  chroot "$2" chown -R "$3:" "$home" "$cargo_home"
  cp "$logs/windlass.bundle" "$2/srv/"
  chmod a+r "$2/srv/windlass.bundle"
}

home_of() { # PERSON
  if [ "$1" = root ]; then echo /root; else echo "/home/$1"; fi
}

# Prints the environment variables with the registries and certificates of package clients.
registry_variables() {
  env | grep -E '^((PIP|NPM_CONFIG|npm_config|CARGO_(HTTP|NET|REGISTR(Y|IES)))_[A-Za-z_]*|RUSTUP_AUTO_INSTALL|SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS|(CURL_CA|REQUESTS_CA)_BUNDLE|GIT_SSL_CAINFO|(https?|no|HTTPS?|NO)_(proxy|PROXY))='
}

# Replaces this process by a command in a clean root, run as one user, with only the above variables of the environment.
# If the process is killed, all processes in the root are killed.
enter() { # ROOT PERSON FOLDER COMMAND...
  local place=$1 person=$2 folder=$3 home variables=() as=()
  shift 3
  home=$(home_of "$person")
  mapfile -t variables < <(registry_variables)
  variables+=("HOME=$home" "USER=$person" "LOGNAME=$person" "SHELL=/bin/bash" LANG=C.UTF-8 TERM=dumb
    "PATH=$cargo_home/bin:/usr/local/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
  [ -z "$rustup" ] || variables+=(RUSTUP_HOME=/usr/local/rust)
  [ "$cargo_home" = "$home/.cargo" ] || variables+=("CARGO_HOME=$cargo_home")
  [ "$person" = root ] || as=(runuser -u "$person" --)
  exec setsid unshare --mount --pid --fork --kill-child --propagation private \
    scripts/lib/enter.sh "$place" "$rust" "${as[@]}" env -i "${variables[@]}" \
    sh -c 'cd "$1" && shift && exec "$@"' sh "$folder" "$@"
}
