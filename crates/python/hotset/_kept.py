"""The finished part of a sweep, in files: an interrupted sweep continues from there."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from pathlib import Path

from ._job import Swept

_NAME = re.compile(r"([0-9a-f]{40})\.(\d+)-(\d+)\.jsonl")


class Kept:
    """A folder with a file for each piece that is done, named by what its rows depend on and by its policies."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._parts: dict[str, list[tuple[int, int]]] = {}
        for name in os.listdir(self.folder):
            if found := _NAME.fullmatch(name):
                key, first, last = found.groups()
                self._parts.setdefault(key, []).append((int(first), int(last)))

    def parts(self, key: str) -> list[tuple[int, int, Swept]]:
        """What there is of a trace, in order, no policy twice. Damaged files and files of earlier versions do not count."""
        told: list[tuple[int, int, Swept]] = []
        for first, last in sorted(self._parts.get(key, []), key=lambda part: (part[0], -part[1])):
            if not told or first >= told[-1][1]:
                swept = self._read(self._path(key, first, last))
                if swept is not None:
                    told.append((first, last, swept))
        return told

    def keep(self, key: str, first: int, last: int, swept: Swept) -> None:
        """Writes a file: it is there whole or not at all."""
        text = json.dumps(swept._asdict())
        descriptor, temporary = tempfile.mkstemp(dir=self.folder, prefix=".hotset-")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as out:
                out.write(f"{_sum(text)}\n{text}\n")
            os.replace(temporary, self._path(key, first, last))
        except BaseException:
            os.unlink(temporary)
            raise

    def _path(self, key: str, first: int, last: int) -> Path:
        return self.folder / f"{key}.{first}-{last}.jsonl"

    def _read(self, path: Path) -> Swept | None:
        try:
            told, _, rest = path.read_text(encoding="utf-8").partition("\n")
        except (FileNotFoundError, UnicodeDecodeError):
            return None
        text = rest.removesuffix("\n")
        if told != _sum(text):
            return None
        fields = json.loads(text)
        # Earlier versions wrote other fields.
        return Swept(**fields) if fields.keys() == set(Swept._fields) else None


def _sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def key_of(*depends_on: object) -> str:
    """A name for rows by all that they depend on."""
    return _sum(json.dumps(depends_on, sort_keys=True, default=list))[:40]
