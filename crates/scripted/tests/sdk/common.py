"""Shared by the four SDK scripts: the scripted model's URL, and checks for values and errors."""

import sys

URL = sys.argv[1]
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
}
OBJECT = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "length": {"type": "integer"}},
    "required": ["name", "length"],
    "additionalProperties": False,
}
HELLO = "Hello from the script, in more than one piece."
CITIES = [{"city": "Brno", "days": 3}, {"city": "Oslo", "days": 1}]


def fails(kind, call):
    """Calls `call` and returns its error, which must be of this kind."""
    try:
        call()
    except kind as error:
        return error
    except Exception as error:  # noqa: BLE001
        raise AssertionError(f"expected {kind}, got {error!r}") from error
    raise AssertionError(f"expected {kind}, got an answer")


def equal(found, expected):
    assert found == expected, f"{found!r} != {expected!r}"
