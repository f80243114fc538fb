"""What the scripts share: where the gateway is, its token, and a check that something fails as it should.

The gateway serves `model` (a scripted model behind HTTP, which takes tools), `fast` (another name for it), `echo` (an agent
that only takes text, and says it back), `composer-cli` (a program that stands in for Cursor's) and `composite/profile/pair`
(a model that is always busy, then `echo`).
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
    """The error of this kind that the call ends with."""
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
    """Leaves in the middle of an answer; the turn is cancelled, and its trace says why."""
    before = {trace["id"] for trace in traces()}
    leave()
    for _ in range(400):
        ended = [trace for trace in traces() if trace["id"] not in before]
        if ended:
            break
        time.sleep(0.05)
    equal([trace["name"] for trace in ended], [f"request ({surface})"])
    equal(ended[0]["error"]["code"], "Cancelled")
    holds(ended[0]["error"]["message"], "499")


def equal(found, expected):
    assert found == expected, f"{found!r} != {expected!r}"


def holds(text, part):
    assert part in text, f"{part!r} is not in {text!r}"
