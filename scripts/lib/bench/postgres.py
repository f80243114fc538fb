"""A PostgreSQL server for other queues, as durable as that of the store's benchmark."""

import os
import shutil
import tempfile
from pathlib import Path

from . import peers
from .machine import Problem, wait_for


class Server:
    """A server with an empty database cluster."""

    def __init__(self, bench, more=()):
        programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
        if not programs:
            raise Problem("PostgreSQL is missing: install the package postgresql")
        self.bench = bench
        # Where every user can go: PostgreSQL does not run as root.
        self.data = Path(tempfile.mkdtemp(prefix="bench-postgres-", dir="/var/tmp"))
        bench.dirs.append(self.data)
        self.port = peers.unused_port()
        self.person = []
        if os.getuid() == 0:
            self.person = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
            shutil.chown(self.data, "postgres", "postgres")
        bench.run([*self.person, programs[-1].parent / "initdb", "-A", "trust", "-U", "bench", "-D", self.data], cwd="/")
        self.programs = programs[-1].parent
        settings = ["listen_addresses=127.0.0.1", f"port={self.port}", f"unix_socket_directories={self.data}", *more]
        options = [part for setting in settings for part in ("-c", setting)]
        self.process = bench.start([*self.person, programs[-1], "-D", self.data, *options], cwd="/")
        wait_for(self.process, lambda log: "ready to accept connections" in log)

    def environment(self):
        url = f"postgres://bench@127.0.0.1:{self.port}/postgres"
        return self.bench.environment(DATABASE_URL=url)

    def stop(self):
        self.bench.stop(self.process)
