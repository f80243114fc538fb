"""Measures chat completions at several endpoints, each over one persistent connection, in alternating rounds.

Usage: gateway.py REQUESTS "NAME URL TOKEN PID" …; PID 0 is not measured. Prints a table.
"""

import http.client
import json
import os
import sys
import time
from urllib.parse import urlsplit

TICKS = os.sysconf("SC_CLK_TCK")
WARMUP = 20
ROUND = 20


class Endpoint:
    def __init__(self, line):
        self.name, url, self.token, pid = line.split()
        self.pid = int(pid)
        self.connection = http.client.HTTPConnection(urlsplit(url).netloc)
        self.whole, self.first, self.streamed = [], [], []
        self.cpu = 0.0

    def request(self, stream):
        """Returns the seconds to the first byte of the body, and to its end."""
        model = "model" if self.pid else "scripted"
        body = json.dumps({"model": model, "stream": stream, "messages": [{"role": "user", "content": "go"}]})
        headers = {"content-type": "application/json", "authorization": f"Bearer {self.token}"}
        started = time.perf_counter()
        self.connection.request("POST", "/v1/chat/completions", body, headers)
        response = self.connection.getresponse()
        first = response.read(1)
        at_first = time.perf_counter() - started
        rest = first + response.read()
        assert response.status == 200, rest[:300]
        return at_first, time.perf_counter() - started

    def cpu_seconds(self):
        """Returns the CPU seconds of the process and its threads so far."""
        if not self.pid:
            return 0.0
        with open(f"/proc/{self.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def round(self):
        before = self.cpu_seconds()
        for _ in range(ROUND):
            self.whole.append(self.request(False)[1])
        self.cpu += self.cpu_seconds() - before
        for _ in range(ROUND):
            first, end = self.request(True)
            self.first.append(first)
            self.streamed.append(end)


def quantile(times, part):
    return sorted(times)[min(len(times) - 1, int(len(times) * part))] * 1000


def main():
    count = int(sys.argv[1])
    endpoints = [Endpoint(line) for line in sys.argv[2:]]
    for endpoint in endpoints:
        for _ in range(WARMUP):
            endpoint.request(False), endpoint.request(True)
    for _ in range(max(1, count // ROUND)):
        for endpoint in endpoints:
            endpoint.round()
    print("| | CPU per request | whole, p50 | p99 | first byte of a stream, p50 | p99 |")
    print("|---|---|---|---|---|---|")
    for endpoint in endpoints:
        cpu = f"{endpoint.cpu * 1000 / len(endpoint.whole):.2f} ms" if endpoint.pid else "–"
        times = [
            quantile(endpoint.whole, 0.5),
            quantile(endpoint.whole, 0.99),
            quantile(endpoint.first, 0.5),
            quantile(endpoint.first, 0.99),
        ]
        print(f"| {endpoint.name} | {cpu} | " + " | ".join(f"{ms:.2f} ms" for ms in times) + " |")


main()
