"""Control groups and the page cache, for the benches."""

import os
from pathlib import Path


class Group:
    """A control group with limited memory."""

    def __init__(self, limit, name=""):
        first = Path("/sys/fs/cgroup/memory")
        self.path = (first if first.exists() else Path("/sys/fs/cgroup")) / f"hotset-bench-{os.getpid()}{name}"
        self.path.mkdir()
        (self.path / ("memory.limit_in_bytes" if first.exists() else "memory.max")).write_text(str(limit))

    def enter(self):
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def close(self):
        self.path.rmdir()


def drop(folder):
    """Drops the files below a folder from the page cache."""
    for path in Path(folder).rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
