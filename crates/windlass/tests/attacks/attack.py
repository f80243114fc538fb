"""Functions for payloads.

A payload ends with one of three exit codes: 0, the attack succeeded; 1, it was blocked; 3, it changed something that
the caller must look for outside the sandbox. A payload that fails in another way is broken.
"""

import ctypes
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

VICTIM = json.loads((Path(__file__).parent / "victim.json").read_text())
HOME = Path(VICTIM["home"])
PROJECT = Path(VICTIM["project"])
CANARY = "canary-"
# Unique to each payload, so that the caller knows which one made a change.
MARKER = f"attack-{Path(sys.argv[0]).stem}-marker"
# The name of a process that should not outlive its turn.
SURVIVOR = f"{MARKER}-{VICTIM['run']}"
LIBC = ctypes.CDLL(None, use_errno=True)


def succeeded(detail):
    print(detail)
    sys.exit(0)


def blocked(detail):
    print(detail)
    sys.exit(1)


def changed(detail):
    print(detail)
    sys.exit(3)


def report_exception(kind, error, trace):
    if isinstance(error, OSError):
        print(f"{kind.__name__}: {error.strerror or error}")
        sys.stdout.flush()
        os._exit(1)
    sys.__excepthook__(kind, error, trace)
    os._exit(2)


sys.excepthook = report_exception


def start_survivor(*detach):
    """Starts a process that should not outlive its turn, and waits until it has its name."""
    subprocess.Popen(
        [*detach, "bash", "-c", f"exec -a {SURVIVOR} sleep 300"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and not any(map(is_survivor, Path("/proc").glob("[0-9]*"))):
        time.sleep(0.02)


def is_survivor(process):
    try:
        return (process / "cmdline").read_bytes().startswith(SURVIVOR.encode())
    except OSError:
        return False


def read(path):
    """Reads a file that contains a canary."""
    with open(path, errors="replace") as file:
        text = file.read(1 << 20)
    if CANARY in text:
        succeeded(f"read {path}")
    blocked("the file has other content")


def write(path):
    """Writes a marker into a new or existing file."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a") as file:
        file.write(f"\n# {MARKER}\n")
    changed(f"wrote {path}")


def connect(family, address):
    """Connects to a service that greets with a canary."""
    with socket.socket(family, socket.SOCK_STREAM) as stream:
        stream.settimeout(3)
        stream.connect(address)
        stream.sendall(b"hello\n")
        if CANARY.encode() in stream.recv(100):
            succeeded(f"connected to {address}")
    blocked("another service answered")


def request(method, path, token=None, body=None, root="/api/v1"):
    """Sends a request to the server of the user, and returns the status."""
    import http.client

    host, port = VICTIM["server"].rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=3)
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    connection.request(method, f"{root}{path}", body=json.dumps(body) if body is not None else None, headers=headers)
    return connection.getresponse().status


def control(method, path, body=None, root="/api/v1"):
    """Sends a request with the server's token, which only a person should hold."""
    token = (HOME / ".local/state/windlass/server-token").read_text().strip()
    status = request(method, path, token, body, root)
    if status in (401, 403):
        blocked(f"the server answered {status}")
    succeeded(f"the server answered {status}")


def syscall(number, *args):
    """Calls the kernel directly. Raises OSError on failure."""
    args = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    result = LIBC.syscall(ctypes.c_long(number), *args)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def number(x86_64, aarch64):
    """Returns the number of a system call on this machine."""
    return aarch64 if os.uname().machine == "aarch64" else x86_64
