"""Tables of results."""

import re
from statistics import median

from .machine import Problem


class Table:
    """A table with one row per contender, and one list of samples per cell."""

    def __init__(self, name, title, columns, note=""):
        self.name = name
        self.title = title
        self.columns = columns
        self.note = note
        self.rows = []

    def add(self, label, *cells):
        """Adds a row. A cell is text, or the samples of a figure."""
        self.rows.append([label, *(cell if isinstance(cell, str) else shown(cell) for cell in cells)])

    def render(self):
        lines = [f"**{self.title}**", "", "| | " + " | ".join(self.columns) + " |"]
        lines.append("|---" * (len(self.columns) + 1) + "|")
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        return "\n".join([*lines, *(["", self.note] if self.note else [])])


def shown(samples):
    """Returns the median, and the range if it is not narrow."""
    samples = [sample for sample in samples if sample is not None]
    if not samples:
        return "–"
    middle, low, high = median(samples), min(samples), max(samples)
    if high - low <= 0.1 * abs(middle):
        return number(middle)
    return f"{number(middle)} ({number(low)}–{number(high)})"


def number(value):
    """Returns a figure with three digits that count."""
    size = abs(value)
    if size >= 1000:
        return f"{round(value, -1 if size < 10_000 else -2):,.0f}"
    if size >= 100:
        return f"{value:.0f}"
    if size >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if size >= 0.1 or size == 0 else f"{value:.3f}"


def write(path, table):
    """Replaces the table of this name in a document, between its two marks."""
    text = path.read_text()
    marks = rf"(<!-- bench: {re.escape(table.name)} -->\n).*?(<!-- end -->)"
    replaced, count = re.subn(marks, lambda found: found[1] + table.render() + "\n" + found[2], text, flags=re.S)
    if count != 1:
        raise Problem(f"{path.name} has {count} places for the table {table.name}, and needs one")
    path.write_text(replaced)
