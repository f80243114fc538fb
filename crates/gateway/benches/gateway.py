"""Measures chat completions at several addresses, each over one connection that is kept, in turns.

Usage: gateway.py REQUESTS "NAME URL TOKEN PROCESS" …; PROCESS 0 is not measured. Prints a table.
"""

import http.client
import json
import os
import sys
import time
from urllib.parse import urlsplit

TICKS = os.sysconf("SC_CLK_TCK")
WARM = 20
ROUND = 20


class Place:
    def __init__(self, line):
        self.name, url, self.token, process = line.split()
        self.process = int(process)
        self.line = http.client.HTTPConnection(urlsplit(url).netloc)
        self.whole, self.first, self.streamed = [], [], []
        self.cpu = 0.0

    def ask(self, stream):
        """Seconds to the first byte of the body, and to its end."""
        model = "model" if self.process else "scripted"
        body = json.dumps({"model": model, "stream": stream, "messages": [{"role": "user", "content": "go"}]})
        headers = {"content-type": "application/json", "authorization": f"Bearer {self.token}"}
        begun = time.perf_counter()
        self.line.request("POST", "/v1/chat/completions", body, headers)
        answer = self.line.getresponse()
        first = answer.read(1)
        at_first = time.perf_counter() - begun
        rest = first + answer.read()
        assert answer.status == 200, rest[:300]
        return at_first, time.perf_counter() - begun

    def busy(self):
        """CPU seconds of the process and its threads so far."""
        if not self.process:
            return 0.0
        with open(f"/proc/{self.process}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def round(self):
        before = self.busy()
        for _ in range(ROUND):
            self.whole.append(self.ask(False)[1])
        self.cpu += self.busy() - before
        for _ in range(ROUND):
            first, end = self.ask(True)
            self.first.append(first)
            self.streamed.append(end)


def quantile(times, part):
    return sorted(times)[min(len(times) - 1, int(len(times) * part))] * 1000


def main():
    count = int(sys.argv[1])
    places = [Place(line) for line in sys.argv[2:]]
    for place in places:
        for _ in range(WARM):
            place.ask(False), place.ask(True)
    for _ in range(max(1, count // ROUND)):
        for place in places:
            place.round()
    print("| | CPU per request | whole, p50 | p99 | first byte of a stream, p50 | p99 |")
    print("|---|---|---|---|---|---|")
    for place in places:
        cpu = f"{place.cpu * 1000 / len(place.whole):.2f} ms" if place.process else "–"
        times = [
            quantile(place.whole, 0.5),
            quantile(place.whole, 0.99),
            quantile(place.first, 0.5),
            quantile(place.first, 0.99),
        ]
        print(f"| {place.name} | {cpu} | " + " | ".join(f"{ms:.2f} ms" for ms in times) + " |")


main()
