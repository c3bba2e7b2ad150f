"""Reads the files that a server left in its data folder. Starts and stops nothing."""

import os
import subprocess
from pathlib import Path

from ...base.values import frozen
from .data_folder import PORT

PID_LINES = 8  # written in steps; the last one is the state


@frozen
class Postmaster:
    pid: int
    socket_dir: Path
    is_ready: bool


def find_postmaster(data: Path) -> Postmaster | None:
    lines = _read_pid_file(data)
    pid = int(lines[0]) if lines and lines[0].isdigit() else 0
    if pid == 0 or f"/postgres -D {data} -c " not in _read_command_line(pid):
        return None
    complete = len(lines) >= PID_LINES
    return Postmaster(pid, Path(lines[4]) if complete else data, complete and lines[7].strip() == "ready")


def forget_dead(data: Path, socket_dir: Path) -> None:
    """Call only when `find_postmaster(data)` is None.

    Postgres refuses to start while the process id in the file exists, though it may be another's. The file
    must stay: by its shared-memory key the next server notices a query that still runs. So our id is written
    into it, which the server ignores as its parent's.
    """
    lines = _read_pid_file(data)
    if lines:
        content = "\n".join([str(os.getpid()), *lines[1:]]) + "\n"
        with (data / "postmaster.pid").open(
            "r+", encoding="utf-8"
        ) as file:  # the server's account stays the owner
            file.write(content)
            file.truncate()
    socket = socket_dir / f".s.PGSQL.{PORT}"
    socket.unlink(missing_ok=True)
    socket.with_name(f"{socket.name}.lock").unlink(missing_ok=True)


def _read_pid_file(data: Path) -> list[str]:
    try:
        return (data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []


def _read_command_line(pid: int) -> str:
    if Path("/proc/self").exists():
        try:
            return (
                Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="surrogateescape").replace("\0", " ")
            )
        except (FileNotFoundError, ProcessLookupError):
            return ""
    answer = subprocess.run(  # noqa: S603
        ["/bin/ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return answer.stdout
