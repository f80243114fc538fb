#!/bin/sh
# Makes what the matrix needs: one folder with projects for root, one for an ordinary user with a home of their own.
# Quick when it has been done before. Usage: setup.sh FOLDER
set -eu

folder=$1
user=nobody
group=$(id -gn "$user")
stamp="$folder/made-by-$(cksum < "$0" | cut -d' ' -f1)"

mkdir -p "$folder"
exec 9> "$folder/lock"
flock 9
if [ -e "$stamp" ]; then exit 0; fi

install() { # PACKAGE
    if [ "$(id -u)" != 0 ]; then
        echo "the package $1 is missing: install it, or let root run the tests once" >&2
        exit 1
    fi
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q "$1"
}
need() { # PROGRAM PACKAGE
    command -v "$1" > /dev/null || install "$2"
}
need bwrap bubblewrap
need unshare util-linux
need git git
need node nodejs
need npm npm
/usr/bin/python3 -c 'import venv, ensurepip' 2> /dev/null || install python3-venv

projects() { # FOLDER
    rm -rf "$1"
    mkdir -p "$1/rust/src" "$1/python" "$1/node" "$1/git" "$1/shell"

    cat > "$1/rust/Cargo.toml" <<'EOF'
[package]
name = "tiny"
version = "0.1.0"
edition = "2021"
[workspace]
EOF
    cat > "$1/rust/src/lib.rs" <<'EOF'
pub fn two() -> u32 { 2 }
#[test]
fn it_is_two() { assert_eq!(two(), 2); }
EOF

    echo 'def test_two(): assert 1 + 1 == 2' > "$1/python/test_two.py"
    /usr/bin/python3 -m venv "$1/python/.venv"
    "$1/python/.venv/bin/pip" install -q pytest

    echo '{"name": "tiny", "version": "0.1.0", "scripts": {"test": "node test.js"}}' > "$1/node/package.json"
    echo 'require("assert").strictEqual(1 + 1, 2)' > "$1/node/test.js"

    git -C "$1/git" init -q
    git -C "$1/git" config user.name Tester
    git -C "$1/git" config user.email tester@localhost
}

# A user has a toolchain of their own. Links spare the space; a copy does where links cannot reach.
toolchain() { # HOME
    command -v rustup > /dev/null || return 0
    from=$(rustup show home)
    active=$(rustup show active-toolchain | cut -d' ' -f1)
    rm -rf "$1"
    mkdir -p "$1/.rustup/toolchains" "$1/.rustup/update-hashes" "$1/.rustup/tmp" "$1/.cargo/bin"
    cp -al "$from/toolchains/$active" "$1/.rustup/toolchains/" 2> /dev/null ||
        cp -a --reflink=auto "$from/toolchains/$active" "$1/.rustup/toolchains/"
    cp "$from/settings.toml" "$1/.rustup/"
    for name in cargo rustc rustdoc rustup; do
        cp -L "$(command -v rustup)" "$1/.cargo/bin/$name"
    done
}

projects "$folder/own"
if [ "$(id -u)" = 0 ]; then
    projects "$folder/user"
    chown -R "$user:$group" "$folder/user"
    toolchain "$folder/home"
    # Not what is in it: links share their owner with the original.
    chown "$user:$group" "$folder/home" "$folder/home/.cargo" "$folder/home/.rustup"
fi
touch "$stamp"
