"""Curves as SVG pictures, with logarithmic axes."""

from math import ceil, floor, log10

WIDTH, HEIGHT = 560, 300
LEFT, RIGHT, TOP, BOTTOM = 70, 130, 34, 44
COLORS = ["#2563eb", "#d97706", "#059669", "#9333ea"]


def render(title, x_label, y_label, curves):
    """Returns a picture. `curves` maps a name to its points."""
    points = [point for curve in curves.values() for point in curve]
    x_low, x_high = bounds([x for x, _ in points])
    y_low, y_high = bounds([y for _, y in points])

    def at(point):
        x = LEFT + (log10(point[0]) - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT)
        y = HEIGHT - BOTTOM - (log10(point[1]) - y_low) / (y_high - y_low) * (HEIGHT - TOP - BOTTOM)
        return round(x, 1), round(y, 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        text(LEFT, 20, title, "start", "bold"),
        text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, x_label),
        f'<g transform="translate(16 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)">{text(0, 0, y_label)}</g>',
    ]
    for power in range(x_low, x_high + 1):
        x, _ = at((10**power, 10**y_low))
        parts.append(line(x, TOP, x, HEIGHT - BOTTOM))
        parts.append(text(x, HEIGHT - BOTTOM + 16, short(10**power)))
    for power in range(y_low, y_high + 1):
        _, y = at((10**x_low, 10**power))
        parts.append(line(LEFT, y, WIDTH - RIGHT, y))
        parts.append(text(LEFT - 6, y + 4, short(10**power), "end"))
    for (name, curve), color in zip(curves.items(), COLORS):
        places = [at(point) for point in curve]
        path = " ".join(f"{x},{y}" for x, y in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts += [f'<circle cx="{x}" cy="{y}" r="3" fill="{color}"/>' for x, y in places]
        parts.append(text(places[-1][0] + 8, places[-1][1] + 4, name, "start", color=color))
    return "\n".join([*parts, "</svg>\n"])


def bounds(values):
    """Returns the powers of ten around the values."""
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    return low, max(high, low + 1)


def short(value):
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def line(x1, y1, x2, y2):
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#e5e7eb"/>'


def text(x, y, content, anchor="middle", weight="normal", color="#374151"):
    content = content.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-weight="{weight}" fill="{color}">{content}</text>'


def waterfall(title, bars):
    """Returns a picture of bars, each with a name, a start and an end in milliseconds."""
    row, left, width = 16, 130, 620
    end = max(until for _, _, until in bars)
    height = TOP + row * len(bars) + 30
    bottom = height - 30

    def at(milliseconds):
        return round(left + milliseconds / end * (width - left - 60), 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        text(left, 20, title, "start", "bold"),
    ]
    step = next(size for size in (5, 10, 20, 50, 100, 200, 500, 1_000, 10_000) if end / size <= 10)
    for tick in range(0, int(end) + 1, step):
        parts += [line(at(tick), TOP, at(tick), bottom), text(at(tick), bottom + 14, f"{tick} ms")]
    names = sorted({name.split()[0] for name, _, _ in bars})
    for number, (name, start, until) in enumerate(bars):
        y = TOP + row * number
        color = COLORS[names.index(name.split()[0]) % len(COLORS)]
        bar = f'<rect x="{at(start)}" y="{y + 2}" width="{max(1, round(at(until) - at(start), 1))}" height="{row - 4}"'
        parts += [f'{bar} fill="{color}"/>', text(left - 6, y + row - 4, name, "end")]
        parts.append(text(at(until) + 4, y + row - 4, f"{until - start:.1f}", "start"))
    return "\n".join([*parts, "</svg>\n"])
