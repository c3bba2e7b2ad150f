"""Processes of their own that a test kills in the middle of their work."""

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess


@contextmanager
def killed_process(work: Callable[..., None], *arguments: object) -> Iterator[BaseProcess]:
    """A process that does the work, which it imports; killed at the end of the block if it still runs."""
    process = multiprocessing.get_context("spawn").Process(target=work, args=arguments)
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()
