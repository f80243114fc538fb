"""The cables between the machines and the bridge: a program that delays, loses or drops frames.

usage: cable.py SEED NAME…

Each cable has two network interfaces: `c-NAME` for the bridge, and `e-NAME` for the machine. A kernel can do this too (netem),
but not every kernel has it, and this loses the same frames for the same seed. Commands come on standard input, one in a line:

  cut NAME                 drop everything
  slow NAME MILLIS LOSS    delay each frame, and lose this share of them (0 to 1), in both directions
  mend NAME                neither
"""

import fcntl
import heapq
import os
import random
import selectors
import struct
import sys
import time

TUN_SET_INTERFACE = 0x400454CA
# A device of Ethernet frames, without additional headers.
TAP = 0x0002 | 0x1000
FRAME = 2048
# Frames that are delayed at the same time. More are lost, as in a router.
MAX_DELAYED = 10_000


def device(name):
    file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(file, TUN_SET_INTERFACE, struct.pack("16sH", name.encode(), TAP))
    return file


class Cable:
    """What happens to the frames of one machine."""

    def __init__(self):
        self.is_cut = False
        self.delay = 0.0
        self.loss = 0.0

    def set(self, command, *numbers):
        self.is_cut = command == "cut"
        millis, loss = numbers if command == "slow" else (0, 0)
        self.delay, self.loss = float(millis) / 1000, float(loss)


class Cables:
    def __init__(self, seed, names):
        self.random = random.Random(seed)
        self.cables = {name: Cable() for name in names}
        self.selector = selectors.DefaultSelector()
        # Frames on their way: when they arrive, a number to keep their order, where, and their bytes.
        self.delayed = []
        self.count = 0
        for name in names:
            ends = device(f"c-{name}"), device(f"e-{name}")
            for one, other in (ends, ends[::-1]):
                self.selector.register(one, selectors.EVENT_READ, (self.cables[name], other))
        self.selector.register(sys.stdin, selectors.EVENT_READ, None)

    def run(self):
        rest = b""
        while True:
            wait = max(0, self.delayed[0][0] - time.monotonic()) if self.delayed else None
            for key, _ in self.selector.select(wait):
                if key.data is not None:
                    self.forward(key.fd, *key.data)
                    continue
                data = os.read(key.fd, 4096)
                if not data:
                    return
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    command, name, *numbers = line.decode().split()
                    self.cables[name].set(command, *numbers)
            self.deliver()

    def forward(self, source, cable, target):
        # A few frames at a time, so that no cable waits for another one.
        for _ in range(32):
            try:
                frame = os.read(source, FRAME)
            except OSError:
                return
            if cable.is_cut or (cable.loss and self.random.random() < cable.loss):
                continue
            if not cable.delay:
                send(target, frame)
            elif len(self.delayed) < MAX_DELAYED:
                self.count += 1
                heapq.heappush(self.delayed, (time.monotonic() + cable.delay, self.count, target, frame))

    def deliver(self):
        while self.delayed and self.delayed[0][0] <= time.monotonic():
            _, _, target, frame = heapq.heappop(self.delayed)
            send(target, frame)


def send(target, frame):
    try:
        os.write(target, frame)
    except OSError:
        # The interface is down, or its queue is full.
        pass


if __name__ == "__main__":
    cables = Cables(int(sys.argv[1]), sys.argv[2:])
    print("ready", flush=True)
    cables.run()
