#!/usr/bin/env bash
# Runs a command with another root directory: `enter.sh ROOT RUST COMMAND...`.
#
# Must be started by `unshare --mount --pid --fork --kill-child --propagation private`: its mounts are not visible
# outside and end with it, as do its processes. It changes the root of the mount namespace, because the kernel forbids
# user namespaces in a chroot. RUST, a directory with toolchains, is mounted read-only at /usr/local/rust.
set -euo pipefail
new=$1
rust=$2
shift 2

mount --bind "$new" "$new"
mount -t proc proc "$new/proc"
mount --rbind /sys "$new/sys"
mount -t tmpfs -o mode=755 dev "$new/dev"
for name in null zero full random urandom tty; do
  : >"$new/dev/$name"
  mount --bind "/dev/$name" "$new/dev/$name"
done
mkdir "$new/dev/pts" "$new/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$new/dev/pts"
mount -t tmpfs -o mode=1777 shm "$new/dev/shm"
ln -s pts/ptmx "$new/dev/ptmx"
ln -s /proc/self/fd "$new/dev/fd"
ln -s fd/0 "$new/dev/stdin"
ln -s fd/1 "$new/dev/stdout"
ln -s fd/2 "$new/dev/stderr"
mkdir -p "$new/usr/local/rust"
mount --bind -o ro "$rust" "$new/usr/local/rust"

cd "$new"
pivot_root . mnt
umount -l /mnt
cd /
# No `exec`: this shell stays as process 1 and reaps orphaned processes.
code=0
"$@" || code=$?
exit "$code"
