"""Files that outlive a power cut: content and name go through to the disk."""

import os
from pathlib import Path


def allocate(descriptor: int, size: int) -> None:
    """Gives a file its space on the disk. Raises OSError if there is none."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
        return
    missing = size - os.fstat(descriptor).st_size  # macOS: written instead
    if missing > 0:
        os.write(descriptor, bytes(missing))


def write_through(path: Path) -> None:
    """Writes a file or folder through, and returns once it is on the disk. A new or renamed file needs both:
    itself, and its folder.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
