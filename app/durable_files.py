"""Files that outlive a power cut: what is written goes through to the disk, and so does the name under which it is found."""

import os
from pathlib import Path


def write_through(path: Path) -> None:
    """Returns once a file's bytes, or a folder's names, are on the disk. A new or renamed file needs both: itself, and its folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
