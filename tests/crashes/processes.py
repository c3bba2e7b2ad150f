"""What /proc says of processes. Starts and ends none."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")


def lives(pid: int) -> bool:
    """Whether it is there and no zombie."""
    return _state(pid) not in ("", "Z", "X")


def command_line(pid: int) -> str:
    """Its command, parted by blanks; empty for one that is gone."""
    return _read(pid, "cmdline").replace("\0", " ").strip()


def descendants(pid: int) -> set[int]:
    """The living processes under it."""
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        for child in _children(waiting.pop()):
            if child not in found and lives(child):
                found.add(child)
                waiting.append(child)
    return found


def processes_about(folder: Path) -> set[int]:
    """The living processes that work in the folder, or name it on their command line or in their environment."""
    name = str(folder)
    return {pid for pid in _all() if lives(pid) and (name in _read(pid, "cmdline") or name in _read(pid, "environ") or name in _cwd(pid))}


def _all() -> Iterator[int]:
    return (int(entry.name) for entry in (PROC.iterdir() if PROC.is_dir() else ()) if entry.name.isdigit())


def _children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        lists = [(task / "children").read_text() for task in (PROC / str(pid) / "task").iterdir()]
        return [int(child) for text in lists for child in text.split()]
    return []


def _state(pid: int) -> str:
    # The name before it may hold blanks and brackets.
    return _read(pid, "stat").rpartition(")")[2].strip()[:1]


def _cwd(pid: int) -> str:
    with contextlib.suppress(OSError):
        return str((PROC / str(pid) / "cwd").readlink())
    return ""


def _read(pid: int, name: str) -> str:
    with contextlib.suppress(OSError):
        return (PROC / str(pid) / name).read_bytes().decode(errors="replace")
    return ""
