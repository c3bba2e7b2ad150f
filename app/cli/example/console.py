"""Console output of the example."""

import contextlib
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)


class Steps:
    def __init__(self, console: Console) -> None:
        self.console = console

    def done(self, what: str) -> None:
        self.console.print(f"[green]✓[/] {what}", highlight=False)

    @contextlib.contextmanager
    def bar(self, doing: str, total: int | None = None) -> Iterator[Callable[[], None]]:
        counts = [] if total is None else [BarColumn(), MofNCompleteColumn()]
        if not self.console.is_terminal:
            yield lambda: None
            return
        columns = (SpinnerColumn(), TextColumn("{task.description}"), *counts, TimeElapsedColumn())
        with Progress(*columns, console=self.console, transient=True) as progress:
            task = progress.add_task(doing, total=total)
            yield lambda: progress.advance(task)
