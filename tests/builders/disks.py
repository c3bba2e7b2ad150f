"""A disk of its own that can be filled up, where root runs the tests."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

BALLAST = "ballast"


@contextmanager
def mounted_disk(image: Path, folder: Path, size: int) -> Iterator[None]:
    """An empty disk of `size` bytes at that folder, until the block ends; skips the test where none may be mounted."""
    folder.mkdir(exist_ok=True)
    with image.open("wb") as file:
        file.truncate(size)
    with suppress(FileNotFoundError):
        subprocess.run(["/sbin/mkfs.ext4", "-q", "-m", "0", str(image)], check=True)
    ways = [["-o", "loop", str(image)], ["-t", "tmpfs", "-o", f"size={size}", "tmpfs"]]
    if not any(subprocess.run(["/bin/mount", *way, str(folder)], check=False).returncode == 0 for way in ways):
        pytest.skip("only root may mount a disk")
    try:
        yield
    finally:
        subprocess.run(["/bin/umount", str(folder)], check=True)


def fill_disk(folder: Path) -> None:
    """Takes all the space that is left."""
    with (folder / BALLAST).open("ab", buffering=0) as file, suppress(OSError):
        for step in (2**20, 4096):
            with suppress(OSError):
                while True:
                    os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, step)
        while True:
            file.write(b"x" * 512)
