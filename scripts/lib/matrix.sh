# shellcheck shell=bash
# The projects on which the sandbox is tested, one set for the user who runs the tests. Root has a second set, which
# belongs to an ordinary user with a home and a Rust toolchain of their own.

# Also `nobody` on Debian; a number works without such a user.
readonly ORDINARY=65534

active_toolchain() {
  [ -z "$(command -v rustup)" ] || rustup show active-toolchain | cut -d ' ' -f 1
}

make_matrix() { # PART FOLDER
  mkdir -p "$2"
  projects "$1" "$2/own"
  [ "$(id -u)" -eq 0 ] || return 0
  projects "$1" "$2/user"
  chown -R "$ORDINARY:$ORDINARY" "$2/user"
  toolchain "$2/home"
  # Not what is in it: links share their owner with the original.
  chown "$ORDINARY:$ORDINARY" "$2/home" "$2/home/.cargo" "$2/home/.rustup"
}

projects() { # PART FOLDER
  rm -rf "$2"
  mkdir -p "$2/rust/src" "$2/python" "$2/node" "$2/git" "$2/shell"

  cat >"$2/rust/Cargo.toml" <<'TOML'
[package]
name = "tiny"
version = "0.1.0"
edition = "2021"
[workspace]
TOML
  cat >"$2/rust/src/lib.rs" <<'RUST'
pub fn two() -> u32 { 2 }
#[test]
fn it_is_two() { assert_eq!(two(), 2); }
RUST

  echo 'def test_two(): assert 1 + 1 == 2' >"$2/python/test_two.py"
  run "$1" "$python" -m venv "$2/python/.venv"
  run "$1" "$2/python/.venv/bin/pip" install --no-input --disable-pip-version-check \
    --require-hashes -r scripts/lib/tools/pytest.txt

  echo '{"name": "tiny", "version": "0.1.0", "scripts": {"test": "node test.js"}}' >"$2/node/package.json"
  echo 'require("assert").strictEqual(1 + 1, 2)' >"$2/node/test.js"

  run "$1" git -C "$2/git" init -q
  git -C "$2/git" config user.name Tester
  git -C "$2/git" config user.email tester@localhost
}

# Links save space; a copy is made where links cannot reach.
toolchain() { # HOME
  local home=$1 from active name
  rm -rf "$home"
  mkdir -p "$home/.rustup/toolchains" "$home/.rustup/update-hashes" "$home/.rustup/tmp" "$home/.cargo/bin"
  [ -n "$(command -v rustup)" ] || return 0
  from=$(rustup show home)
  active=$(active_toolchain)
  cp -al "$from/toolchains/$active" "$home/.rustup/toolchains/" 2>>"$logs/matrix.log" ||
    cp -a --reflink=auto "$from/toolchains/$active" "$home/.rustup/toolchains/"
  cp "$from/settings.toml" "$home/.rustup/"
  for name in cargo rustc rustdoc rustup; do
    cp -L "$(command -v rustup)" "$home/.cargo/bin/$name"
  done
}
