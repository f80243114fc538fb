"""Shared by the scripts: the gateway's address and token, and checks.

The gateway serves `model` (a scripted HTTP model with tools), `fast` (an alias of it), `limited` (the same model with an
account of its own, which it may limit), `echo` (an agent that accepts only text and returns it), `composer-cli` (a fake of
Cursor's program), `talker` (an agent that gets tools in its prompt) and `composite/profile/pair` (a model that is always rate
limited, with `echo` as its fallback).
"""

import json
import sys
import time
import urllib.request

URL, TOKEN = sys.argv[1], sys.argv[2]
OBJECT = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "length": {"type": "integer"}},
    "required": ["name", "length"],
    "additionalProperties": False,
}
WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
}
HELLO = "Hello from the script, in more than one piece."
CITIES = [{"city": "Brno", "days": 3}, {"city": "Oslo", "days": 1}]
DIALOG = [
    {"role": "user", "content": "Hi!"},
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": "And now?"},
]
TRANSCRIPT = "<<<ROLE:USER>>>\nHi!\n\n<<<ROLE:ASSISTANT>>>\nHello.\n\n<<<ROLE:USER>>>\nAnd now?"


def fails(kind, call):
    """Returns the error of this kind that the call raises."""
    try:
        call()
    except kind as error:
        return error
    except Exception as error:  # noqa: BLE001
        raise AssertionError(f"expected {kind}, got {error!r}") from error
    raise AssertionError(f"expected {kind}, got an answer")


def traces():
    request = urllib.request.Request(f"{URL}/api/v1/traces", headers={"authorization": f"Bearer {TOKEN}"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def cancelled(surface, leave):
    """Disconnects in the middle of a response; checks that the turn is cancelled and its trace has the reason."""
    before = {trace["id"] for trace in traces()}
    leave()
    for _ in range(400):
        # The trace of the request before may be stored only now.
        ended = [trace for trace in traces() if trace["id"] not in before and "499" in str(trace.get("error"))]
        if ended:
            break
        time.sleep(0.05)
    equal([trace["name"] for trace in ended], [f"request ({surface})"])
    equal(ended[0]["error"]["code"], "Cancelled")


def equal(found, expected):
    assert found == expected, f"{found!r} != {expected!r}"


def holds(text, part):
    assert part in text, f"{part!r} is not in {text!r}"
