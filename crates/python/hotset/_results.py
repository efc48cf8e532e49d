"""Rows of results, as tables and charts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast, overload

from . import _native
from ._optional import bring
from ._rows import Row, SeriesRow

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from matplotlib.axes import Axes

#: Columns that are shown to people.
_SHOWN = ("trace", "policy", "size_blocks", "size_bytes", "references", "hits", "hit_ratio", "byte_hit_ratio")


class Results(Sequence[Row]):
    """Rows, a ``dict`` each, with the fields of the command's JSON. A field that does not apply is absent."""

    def __init__(
        self,
        rows: Sequence[Mapping[str, Any]],
        *,
        series: Sequence[Mapping[str, Any]] | None = None,
        remarks: list[str] | None = None,
    ) -> None:
        self._rows: list[dict[str, Any]] = [cast("dict[str, Any]", row) for row in rows]
        #: Rows of one stretch of time after another, if ``every`` asked for them.
        self.series: list[SeriesRow] = [cast("SeriesRow", row) for row in series or []]
        #: What there was to say of the trace.
        self.remarks = remarks or []
        #: Of a sweep, how many rows each trace has.
        self._per_trace: list[int] = []

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(cast("list[Row]", self._rows))

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> Results: ...
    def __getitem__(self, at: int | slice) -> Row | Results:
        if isinstance(at, slice):
            return Results(self._rows[at], remarks=self.remarks)
        return cast("Row", self._rows[at])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Results) and self._rows == other._rows

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Results) -> Results:
        """The rows of both: of several traces, say."""
        series, remarks = self.series + other.series, self.remarks + other.remarks
        return Results(self._rows + other._rows, series=series, remarks=remarks)

    def columns(self) -> list[str]:
        """The fields that some row has, in the order of the command's files."""
        told = {name for row in self._rows for name in row}
        first = [name for name in _native.columns() if name in told]
        return first + sorted(told.difference(first))

    def to_json(self) -> str:
        """JSON Lines, as ``--json`` writes them."""
        import json

        return "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in self._rows)

    def to_pandas(self) -> pandas.DataFrame:
        """A ``pandas.DataFrame`` (needs pandas)."""
        module = bring("pandas", "to_pandas", "hotset[pandas]")
        frame: pandas.DataFrame = module.DataFrame(self._rows, columns=self.columns())
        return frame

    def to_arrow(self) -> pyarrow.Table:
        """A ``pyarrow.Table`` with the columns of the command's Parquet files (needs pyarrow)."""
        import io

        parquet = bring("pyarrow.parquet", "to_arrow", "hotset[arrow]")
        table: pyarrow.Table = parquet.read_table(io.BytesIO(_native.parquet(self.to_json())))
        return table

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes a Parquet file, as ``--parquet`` does."""
        file = _native.parquet(self.to_json())
        with open(path, "wb") as out:
            out.write(file)

    def plot(self, field: str = "hit_ratio", *, ax: Axes | None = None) -> Axes:
        """Draws a field by size, a line for each policy (needs matplotlib). Gives the axes."""
        if ax is None:
            pyplot = bring("matplotlib.pyplot", "plot", "hotset[plot]")
            ax = pyplot.subplots()[1]
        lines = self._lines(field)
        for label, points in lines.items():
            sizes, values = zip(*points)
            ax.plot(sizes, values, marker="o", label=label)
        ax.set_xscale("log")
        ax.set_xlabel(self._size_title())
        ax.set_ylabel(field.replace("_", " "))
        if lines:
            ax.legend()
        return ax

    def _lines(self, field: str) -> dict[str, list[tuple[int, float]]]:
        """Size and value, by size, of each policy; with the names of traces if there are several."""
        several = len({row["trace"] for row in self._rows}) > 1
        size = "size_bytes" if self._is_in_bytes() else "size_blocks"
        lines: dict[str, list[tuple[int, float]]] = {}
        for row in self._rows:
            if field in row:
                label = f"{row['policy']}, {row['trace']}" if several else row["policy"]
                lines.setdefault(label, []).append((row[size], row[field]))
        if self._rows and not lines:
            raise KeyError(field)
        return {label: sorted(points) for label, points in lines.items()}

    def _table(self) -> tuple[list[str], list[list[str]]]:
        columns = [name for name in _SHOWN if any(name in row for row in self._rows)]
        return columns, [[_shown(row.get(name)) for name in columns] for row in self._rows]

    def __repr__(self) -> str:
        columns, rows = self._table()
        widths = [max(map(len, column)) for column in zip(columns, *rows)]
        numbers = {name for name in columns if name not in ("trace", "policy")}
        lines = []
        for row in [columns, *rows]:
            cells = [
                cell.rjust(width) if name in numbers else cell.ljust(width)
                for name, cell, width in zip(columns, row, widths)
            ]
            lines.append("  ".join(cells).rstrip())
        return "\n".join(lines) if rows else "<hotset.Results without rows>"

    def _repr_html_(self) -> str:
        """Hit ratios by size, where there are several sizes, above the table."""
        import html

        columns, rows = self._table()
        head = "".join(f"<th>{html.escape(name.replace('_', ' '))}</th>" for name in columns)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        return f"{self._chart()}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _chart(self) -> str:
        lines = self._lines("hit_ratio")
        if len({size for points in lines.values() for size, _ in points}) < 2:
            return ""
        from ._chart import chart

        offline = {policy["name"] for policy in _native.policies() if policy["offline"]}
        dashed = {label for label in lines if re.split(r"[(,]", label, maxsplit=1)[0] in offline}
        return chart(lines, x=self._size_title(), y="hit ratio", in_bytes=self._is_in_bytes(), dashed=dashed)

    def _is_in_bytes(self) -> bool:
        """True if sizes are bytes of objects, which have no size of a block."""
        return bool(self._rows) and all("byte_hit_ratio" in row for row in self._rows)

    def _size_title(self) -> str:
        return f"cache size ({'bytes' if self._is_in_bytes() else 'blocks'})"


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else str(value)
