# SPDX-License-Identifier: GPL-2.0-only
"""figures - medians, ratios with their confidence, and pictures: what the benches have in common once they have measured

A ratio is of two values that were taken within milliseconds of each other, in one round; what is told is the median of all rounds' ratios, with the bounds
within which 95 of 100 resamplings of the rounds put it (bootstrap, percentile method). What disturbs the machine for longer than a round disturbs both.
"""
import json
import random
import statistics

RESAMPLINGS = 400


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def bounds(values):
    """Within which the median lies, by 95 of 100 resamplings."""
    source = random.Random(1)
    medians = sorted(statistics.median(source.choices(values, k=len(values))) for _ in range(RESAMPLINGS))
    return medians[int(RESAMPLINGS * 0.025)], medians[int(RESAMPLINGS * 0.975)]


def ratio(values, base):
    """Of values to those of the same round; with the medians of the two halves of the run, which say whether it was of one piece."""
    each = [value / other for value, other in zip(values, base)]
    half = max(1, len(each) // 2)
    low, high = bounds(each)
    return {"median": round(statistics.median(each), 4), "low": round(low, 4), "high": round(high, 4),
            "halves": [round(statistics.median(part), 4) for part in (each[:half], each[-half:])]}


def spread(values):
    return {"median": round(statistics.median(values), 1), "p25": round(percentile(values, 0.25), 1), "p75": round(percentile(values, 0.75), 1)}


def told(ratio_of):
    return f"{ratio_of['median']:.3f} ({ratio_of['low']:.3f} to {ratio_of['high']:.3f})"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]) + "\n"


def arguments_of(words, *with_value):
    """(plain words, {name: value}) of a command line; --json FILE is always known, other options are either in with_value or have none."""
    plain, options, words = [], {}, list(words)
    while words:
        word = words.pop(0)
        if word.startswith("--"):
            options[word] = words.pop(0) if word in ("--json", *with_value) else True
        else:
            plain.append(word)
    return plain, options


def write_json(options, result):
    if "--json" in options:
        with open(options["--json"], "w") as file:
            json.dump(result, file, indent=1)


# ---- pictures: lines over a logarithmic or plain axis, nothing but SVG ------------------------------------------------------------------------

COLOURS = ["#1b6ca8", "#c8553d", "#3a7d44", "#8d5a97", "#b8860b", "#555555"]
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 380, 64, 24, 76, 48


def _ticks(low, high):
    step = 10 ** len(str(int(max(high - low, 1)))) / 100
    while (high - low) / step > 6:
        step *= 2 if str(step)[0] != "2" else 2.5
    first = int(low / step) * step
    return [first + i * step for i in range(12) if low <= first + i * step <= high * 1.0001]


def picture(path, title, across, upright, lines, places=None):
    """lines: {name: [(x, y)]}. places: the x values in their order, drawn at equal distances (a logarithmic axis without its crowd); None: a plain axis."""
    from html import escape
    points = [point for line in lines.values() for point in line]
    xs = places or sorted({x for x, _ in points})
    x_low, x_high, y_high = min(xs), max(xs), max(y for _, y in points) * 1.1

    def at(x, y):
        share = xs.index(x) / max(1, len(xs) - 1) if places else (x - x_low) / ((x_high - x_low) or 1)
        return LEFT + share * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - y / y_high * (HEIGHT - TOP - BOTTOM)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>', f'<text x="{LEFT}" y="20" font-size="15">{escape(title)}</text>',
           f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">{escape(across)}</text>',
           f'<text x="14" y="{HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 14 {HEIGHT / 2})">{escape(upright)}</text>']
    for y in _ticks(0, y_high):
        left, up = at(xs[0], y)
        out.append(f'<path d="M{left:.1f} {up:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/><text x="{LEFT - 6}" y="{up + 4:.1f}" text-anchor="end">{y:g}</text>')
    for x in places or _ticks(x_low, x_high):
        out.append(f'<text x="{at(x, 0)[0]:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{x:,g}</text>')
    for number, (name, line) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        path_of = " ".join("{:.1f},{:.1f}".format(*at(*point)) for point in line)
        out.append(f'<polyline points="{path_of}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out.append(f'<text x="{LEFT + number % 3 * 190}" y="{38 + number // 3 * 14}" fill="{colour}">{escape(name)}</text>')
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([*out, "</svg>"]) + "\n")
