"""A chart as an SVG, which shows wherever HTML does: values by size, a line for each policy."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Container, Iterator, Mapping, Sequence

#: What lies between the edges of the picture and those of the plot; names of lines stand on the right.
_LEFT, _TOP, _RIGHT, _BOTTOM = 56, 14, 190, 46
_WIDTH, _HEIGHT = 720, 320
#: The palette of Okabe and Ito, which people with any colour vision can tell apart, as on the pages of results. Further
#: lines are grey.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_GREY = "#98a2b0"
#: The axis of values spans no less.
_FINEST = 0.01
#: Between the names of two lines.
_LINE = 15

Points = Sequence[tuple[int, float]]


def chart(lines: Mapping[str, Points], *, x: str, y: str, in_bytes: bool, dashed: Container[str]) -> str:
    """An SVG of these lines over a logarithmic axis of sizes, of which there are at least two."""
    sizes = sorted({size for points in lines.values() for size, _ in points})
    values = [value for points in lines.values() for _, value in points]
    least, most = math.log(sizes[0]), math.log(sizes[-1])
    ticks = _ticks(min(values), max(values))
    low, high = ticks[0], ticks[-1]

    def across(size: float) -> float:
        return _LEFT + (math.log(size) - least) / (most - least) * (_WIDTH - _LEFT - _RIGHT)

    def up(value: float) -> float:
        return _HEIGHT - _BOTTOM - (value - low) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)

    parts = [
        *(_tick(up(value), _number(value, ticks[1] - ticks[0])) for value in ticks),
        *(_size(across(size), text) for size, text in _apart(sizes, _binary if in_bytes else "{:,}".format, across)),
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 6}" text-anchor="middle">{html.escape(x)}</text>',
        f'<text transform="translate(13 {(_HEIGHT + _TOP - _BOTTOM) / 2}) rotate(-90)" text-anchor="middle">'
        f"{html.escape(y)}</text>",
    ]
    colours = dict(zip((name for name in lines if name not in dashed), _COLOURS))
    # The emphasised curves are drawn last, above the others.
    for name in sorted(lines, key=lambda name: name in colours):
        points = lines[name]
        places = [(across(size), up(value)) for size, value in points]
        parts.append(_line(name, places, points, colours.get(name, _GREY), name in dashed))
    named = [name for name in lines if name in colours or name in dashed]
    more = [f"and {len(lines) - len(named)} more, in grey"] if len(lines) > len(named) else []
    parts += _names([(up(lines[name][-1][1]), name, colours.get(name, _GREY)) for name in named], more)
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" style="max-width:100%;height:auto" role="img" '
        f'font-family="system-ui,sans-serif" font-size="12" fill="currentColor" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{html.escape(y)} by {html.escape(x)}</title>{''.join(parts)}</svg>"
    )


def _ticks(least: float, most: float) -> list[float]:
    """Round values from one at or below the least to one at or above the most."""
    step = 10.0 ** math.floor(math.log10(max(most - least, _FINEST)))
    step = next(step * part for part in (0.2, 0.5, 1, 2) if most - least <= step * part * 6)
    begin, end = math.floor(least / step + 1e-9), math.ceil(most / step - 1e-9)
    return [number * step for number in range(begin, max(end, begin + 1) + 1)]


def _number(value: float, step: float) -> str:
    """A value with as many digits as tell it from the next tick."""
    return f"{value:,.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"


def _apart(
    sizes: Sequence[int], written: Callable[[int], str], across: Callable[[float], float]
) -> Iterator[tuple[int, str]]:
    """The sizes whose numbers have room below the axis."""
    end = -math.inf
    for size in sizes:
        text = written(size)
        half = 3.5 * len(text)
        if across(size) - half > end + 10:
            yield size, text
            end = across(size) + half


def _binary(size: int) -> str:
    """Bytes as the command writes them: 64K."""
    unit = min(max(0, size.bit_length() - 1) // 10, 4)
    return f"{size / (1 << 10 * unit):.4g}{' KMGT'[unit].strip()}"


def _tick(y: float, text: str) -> str:
    rule = f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="currentColor" stroke-opacity=".12"/>'
    return f'{rule}<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{text}</text>'


def _size(x: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{text}</text>'


def _line(name: str, places: Sequence[tuple[float, float]], points: Points, colour: str, is_dashed: bool) -> str:
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    dashes = ' stroke-dasharray="5 4"' if is_dashed else ""
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{html.escape(name)}, {size:,}: {value:.6g}</title></circle>'
        for (x, y), (size, value) in zip(places, points)
    )
    line = f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="1.6"{dashes}/>'
    return f'{line}<g fill="{colour}">{dots}</g>'


def _names(named: list[tuple[float, str, str]], more: list[str]) -> list[str]:
    """The names beside the ends of their lines, moved apart."""
    parts, x, below = [], _WIDTH - _RIGHT + 10, float(_TOP)
    named = sorted(named)
    for number, (y, name, colour) in enumerate([*named, *((float(_TOP), text, _GREY) for text in more)]):
        left = len(named) + len(more) - number
        y = max(below, min(y, _HEIGHT - _BOTTOM + 15 - left * _LINE))
        below = y + _LINE
        shown = name if len(name) <= 26 else f"{name[:25]}…"
        parts.append(f'<text x="{x}" y="{y + 4:.1f}" fill="{colour}">{html.escape(shown)}</text>')
    return parts
