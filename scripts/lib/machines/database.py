"""PostgreSQL on two machines: a primary, a synchronous standby, and an address that moves when the standby is promoted."""

import glob
import json
import subprocess

from .network import Failure, PREFIX, wait_until

# The address that clients use, whichever machine has it.
ADDRESS = "10.77.0.10"
URL = f"postgres://postgres@{ADDRESS}/windlass"
# Tells the other machines which machine has the address now.
ANNOUNCE = """
import socket, sys
address = socket.inet_aton(sys.argv[1])
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
link.bind(("eth0", 0x0806))
own = link.getsockname()[4]
for operation in (1, 2):
    head = b"\\xff" * 6 + own + b"\\x08\\x06" + b"\\x00\\x01\\x08\\x00\\x06\\x04" + operation.to_bytes(2, "big")
    link.send(head + own + address + b"\\xff" * 6 + address)
"""
SETTINGS = """
listen_addresses = '*'
unix_socket_directories = ''
max_connections = 200
shared_buffers = 32MB
# Processes are killed here, not the kernel.
fsync = off
full_page_writes = off
wal_sender_timeout = 10s
wal_receiver_timeout = 10s
wal_keep_size = 256MB
synchronous_commit = on
"""


def program(name):
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"))
    if not found:
        raise Failure("PostgreSQL is missing: run scripts/setup --only postgres")
    return found[-1]


class Database:
    def __init__(self, first, second):
        self.primary, self.standby = first, second
        self.servers = {}

    def start(self):
        for machine in (self.primary, self.standby):
            machine.run(["chown", "postgres", machine.home])
        machine = self.primary
        self.as_owner(machine, program("initdb"), "--no-sync", "-D", self.data(machine), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C")
        data = machine.files / "data"
        with (data / "postgresql.conf").open("a") as file:
            file.write(SETTINGS)
        with (data / "pg_hba.conf").open("a") as file:
            file.write(f"host all all 10.77.0.0/{PREFIX} trust\nhost replication all 10.77.0.0/{PREFIX} trust\n")
        self.launch(machine)
        self.take_address(machine)
        self.query("CREATE DATABASE windlass", "postgres")
        self.add_standby()

    def data(self, machine):
        return f"{machine.home}/data"

    def as_owner(self, machine, *command):
        return machine.run(["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command], cwd=machine.home, timeout=120)

    def launch(self, machine):
        (machine.files / "data/postmaster.pid").unlink(missing_ok=True)
        command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", program("postgres"), "-D", self.data(machine)]
        self.servers[machine.name] = machine.spawn(command, machine.name, cwd=machine.home)
        ask = [program("psql"), "-h", machine.address, "-U", "postgres", "-Atc", "SELECT 1"]
        wait_until(f"PostgreSQL on {machine.name} answers", lambda: machine.run(ask, codes=range(256)).strip() == "1")

    def take_address(self, machine):
        machine.run(["ip", "addr", "replace", f"{ADDRESS}/32", "dev", "eth0"])
        machine.run(["python3", "-c", ANNOUNCE, ADDRESS])

    def add_standby(self):
        """Makes the other machine a standby, and waits for it with every commit from now on."""
        machine = self.standby
        machine.run(["rm", "-rf", self.data(machine)])
        self.as_owner(machine, program("pg_basebackup"), "-h", self.primary.address, "-U", "postgres", "-D", self.data(machine), "-R", "-X", "stream",
                      "--checkpoint=fast", "--no-sync")
        self.launch(machine)
        # Neither statement waits for the standby.
        self.query("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.query("SELECT pg_reload_conf()")
        query = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
        wait_until("the standby is synchronous", lambda: self.query(query) == "1")

    def crash(self):
        """Kills the primary, and starts it again: what was not written out is lost."""
        self.primary.kill_all()
        self.launch(self.primary)

    def promote(self):
        """Gives the address to the standby. The old primary cannot be reached any more, and is then switched off."""
        old, new = self.primary, self.standby
        old.network.cable("cut", old.name)
        self.primary, self.standby = new, old
        ask = [program("psql"), "-h", new.address, "-U", "postgres", "-Atc"]
        new.run([*ask, "SELECT pg_promote(true, 60)"])
        # It has no standby yet.
        new.run([*ask, "ALTER SYSTEM SET synchronous_standby_names = ''"])
        new.run([*ask, "SELECT pg_reload_conf()"])
        self.take_address(new)
        old.kill_all()
        old.run(["ip", "addr", "del", f"{ADDRESS}/32", "dev", "eth0"])
        old.network.cable("mend", old.name)
        self.add_standby()

    def query(self, text, database="windlass", timeout=60):
        command = [program("psql"), "-h", ADDRESS, "-U", "postgres", "-d", database, "-v", "ON_ERROR_STOP=1", "-Atqc", text]
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
        if done.returncode != 0:
            raise Failure(f"psql: {done.stderr.strip()}")
        return done.stdout.strip()

    def rows(self, query):
        """Returns the rows of a query as dictionaries."""
        return json.loads(self.query(f"SELECT coalesce(json_agg(found), '[]') FROM ({query}) AS found"))
