"""Tries one system call after another, each in its own process, and prints how the kernel answered.

`called` means that the kernel carried the call out or rejected only its arguments.
"""

import ctypes
import errno
import mmap
import os
import platform
import signal
import sys

X86 = platform.machine() == "x86_64"
LIBC = ctypes.CDLL(None, use_errno=True)
BAD_POINTER = ctypes.c_void_p(1)

# The numbers on x86-64 and on arm64.
NUMBERS = {
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "unshare": (272, 97),
    "setns": (308, 268),
    "clone": (56, 220),
    "clone3": (435, 435),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "getpid": (39, 172),
}
CLONE_NEWUSER = 0x10000000
CLONE_NEWNS = 0x00020000
TIOCSTI = 0x5412
TIOCLINUX = 0x541C


def call(name, *arguments):
    number = NUMBERS[name][0 if X86 else 1]
    arguments = [a if isinstance(a, ctypes.c_void_p) else ctypes.c_void_p(a) for a in arguments]
    LIBC.syscall.restype = ctypes.c_long
    result = LIBC.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def ptrace_child(request):
    """Traces a child that did not ask for it."""
    child = os.fork()
    if child == 0:
        signal.pause()
    try:
        call("ptrace", request, child, 0, 0)
    finally:
        os.kill(child, signal.SIGKILL)


def clone_user_namespace():
    if call("clone", CLONE_NEWUSER | signal.SIGCHLD, 0, 0, 0, 0) == 0:
        os._exit(0)


def call_32_bit():
    """Calls getpid through the 32-bit entry, whose numbers are different."""
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(bytes([0x53, 0xB8, 20, 0, 0, 0, 0xCD, 0x80, 0x5B, 0xC3]))
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    ctypes.CFUNCTYPE(ctypes.c_int)(address)()


def call_x32():
    """Calls getpid by the number of the x32 ABI."""
    LIBC.syscall.restype = ctypes.c_long
    if LIBC.syscall(ctypes.c_long(0x40000000 | NUMBERS["getpid"][0])) < 0:
        raise OSError(ctypes.get_errno(), "x32")


ATTEMPTS = {
    "keyctl": lambda: call("keyctl", 0, -3, 0),
    "add_key": lambda: call("add_key", *map(text, ("user", "windlass-payload", "x")), 1, -2),
    "request_key": lambda: call("request_key", *map(text, ("user", "windlass-payload")), 0, 0),
    "ptrace_attach": lambda: ptrace_child(16),
    "ptrace_seize": lambda: ptrace_child(0x4206),
    "ptrace_traceme": lambda: call("ptrace", 0, 0, 0, 0),
    "process_vm_readv": lambda: call("process_vm_readv", os.getpid(), 0, 0, 0, 0, 0),
    "process_vm_writev": lambda: call("process_vm_writev", os.getpid(), 0, 0, 0, 0, 0),
    "pidfd_getfd": lambda: call("pidfd_getfd", -1, 0, 0),
    "bpf": lambda: call("bpf", 0xFFFF, BAD_POINTER, 0),
    "userfaultfd": lambda: call("userfaultfd", 1),
    "perf_event_open": lambda: call("perf_event_open", BAD_POINTER, 0, -1, -1, 0),
    "kexec_load": lambda: call("kexec_load", 0, 0, 0, 0),
    "kexec_file_load": lambda: call("kexec_file_load", -1, -1, 0, 0, 0),
    "mount": lambda: call("mount", BAD_POINTER, BAD_POINTER, 0, 0, 0),
    "umount2": lambda: call("umount2", BAD_POINTER, 0),
    "pivot_root": lambda: call("pivot_root", BAD_POINTER, BAD_POINTER),
    "open_tree": lambda: call("open_tree", -1, BAD_POINTER, 0),
    "move_mount": lambda: call("move_mount", -1, BAD_POINTER, -1, BAD_POINTER, 0),
    "fsopen": lambda: call("fsopen", BAD_POINTER, 0),
    "fsconfig": lambda: call("fsconfig", -1, 0, 0, 0, 0),
    "fsmount": lambda: call("fsmount", -1, 0, 0),
    "fspick": lambda: call("fspick", -1, BAD_POINTER, 0),
    "mount_setattr": lambda: call("mount_setattr", -1, BAD_POINTER, 0, 0, 0),
    "unshare_user": lambda: call("unshare", CLONE_NEWUSER),
    "unshare_user_and_mount": lambda: call("unshare", CLONE_NEWUSER | CLONE_NEWNS),
    "clone_user": clone_user_namespace,
    "clone3": lambda: call("clone3", 0, 0),
    "setns": lambda: call("setns", -1, 0),
    "io_uring": lambda: call("io_uring_setup", 0, BAD_POINTER),
    "tiocsti": lambda: call("ioctl", 2, TIOCSTI, BAD_POINTER),
    "tiocsti_high_bits": lambda: call("ioctl", 2, TIOCSTI | (1 << 32), BAD_POINTER),
    "tioclinux": lambda: call("ioctl", 2, TIOCLINUX, BAD_POINTER),
    "foreign_abi": call_32_bit if X86 else None,
    "x32": call_x32 if X86 else None,
}


def text(value):
    return ctypes.cast(ctypes.create_string_buffer(value.encode()), ctypes.c_void_p)


def answer(attempt):
    """Returns the answer of one attempt, which runs in a child process."""
    child = os.fork()
    if child == 0:
        try:
            attempt()
            os._exit(0)
        except OSError as error:
            os._exit(error.errno)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    refused = {errno.EPERM: "EPERM", errno.ENOSYS: "ENOSYS"}
    return refused.get(os.WEXITSTATUS(status), "called")


for name, attempt in ATTEMPTS.items():
    if attempt is not None:
        print(name, answer(attempt), flush=True)
