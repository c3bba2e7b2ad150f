"""Files that outlive a power cut: content and name go through to the disk."""

import os
from pathlib import Path


def allocate(descriptor: int, size: int) -> None:
    """Raises OSError without space on the disk."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
        return
    missing = size - os.fstat(descriptor).st_size  # macOS: written instead
    if missing > 0:
        os.write(descriptor, bytes(missing))


def write_through(path: Path) -> None:
    """A new or renamed file needs two: itself, and its folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
