"""A git remote on a machine of its own, over ssh, which keeps a record of every ref that moves."""

import collections

from .network import wait_until

# Appends each moved ref to a file: a reflog would be deleted with its ref.
HOOK = """#!/bin/sh
[ "$1" = committed ] || exit 0
while read -r old new ref; do
    case $ref in refs/*) printf '%s %s %s\\n' "$old" "$new" "$ref" ;; esac
done >> "$GIT_DIR/moves"
"""
SSH = """
Host *
    User root
    IdentityFile {home}/id
    IdentitiesOnly yes
    UserKnownHostsFile {home}/known_hosts
    StrictHostKeyChecking yes
    BatchMode yes
    ConnectTimeout 10
    ServerAliveInterval 5
    ServerAliveCountMax 3
"""

Move = collections.namedtuple("Move", "old new ref")


class Remote:
    def __init__(self, machine):
        self.machine = machine
        self.home = machine.home
        self.url = f"ssh://{machine.address}{self.home}/shop.git"
        self.files = machine.files / "shop.git"

    def start(self):
        machine, home = self.machine, self.home
        printed = machine.run(["dropbearkey", "-t", "ed25519", "-f", f"{home}/host_key"])
        [self.host_key] = [line for line in printed.splitlines() if line.startswith("ssh-ed25519 ")]
        # The server reads the keys of a user in the home directory; here, that is one of this machine alone.
        (machine.files / "root/.ssh").mkdir(parents=True, mode=0o700)
        machine.run(["mount", "--bind", f"{home}/root", "/root"])
        self.git("init", "--quiet", "--bare", "--initial-branch=main", f"{home}/shop.git", bare=False)
        self.git("config", "core.logAllRefUpdates", "always")
        # Collecting garbage after a push takes seconds, and is not what is tested.
        self.git("config", "receive.autogc", "false")
        hook = self.files / "hooks/reference-transaction"
        hook.write_text(HOOK)
        hook.chmod(0o755)
        self.launch()

    def launch(self):
        """Starts an ssh server that takes keys only. Dropbear's package starts none on the computer by itself."""
        listen = f"{self.machine.address}:22"
        words = ["dropbear", "-F", "-E", "-s", "-r", f"{self.home}/host_key", "-p", listen, "-P", f"{self.home}/pid"]
        self.server = self.machine.spawn(words, "ssh")
        check = ["python3", "-c", f"import socket; socket.create_connection(('{self.machine.address}', 22), 1)"]
        wait_until("the ssh server answers", lambda: not self.machine.run(check, codes=range(256)))

    def admit(self, machine):
        """Gives a machine a key of its own, and the host key of this one."""
        machine.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{machine.home}/id"])
        (machine.files / "known_hosts").write_text(f"{self.machine.address} {self.host_key}\n")
        (machine.files / "ssh_config").write_text(SSH.format(home=machine.home))
        machine.run(["mount", "--bind", f"{machine.home}/ssh_config", "/etc/ssh/ssh_config"])
        keys = self.machine.files / "root/.ssh/authorized_keys"
        with keys.open("a") as file:
            file.write((machine.files / "id.pub").read_text())
        keys.chmod(0o600)

    def git(self, *words, bare=True, **options):
        directory = ["--git-dir", f"{self.home}/shop.git"] if bare else []
        return self.machine.run(["git", *directory, *words], {"HOME": self.home}, **options)

    def moves(self):
        """Returns every change of a ref, in order."""
        file = self.files / "moves"
        lines = file.read_text().splitlines() if file.exists() else []
        return [Move(*line.split(" ", 2)) for line in lines]
