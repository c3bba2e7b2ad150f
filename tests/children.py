"""Child processes with the variables that the test has set.

They are forked from a process that keeps the variables of its own start, and takes seconds to start again.
"""

import os
from collections.abc import Mapping
from functools import partial
from typing import Any

from app.base import apart


def hand_over_variables() -> None:
    """Lets children of this process take over its variables when they start."""
    apart._run_in_child = _Run()  # type: ignore[assignment]  # noqa: SLF001 - products set no variable after their start


class _Run:
    """The start of a child, which is sent to it with the variables of that moment."""

    def __reduce__(self) -> tuple[Any, ...]:
        return partial, (_run_with_variables, dict(os.environ))


def _run_with_variables(variables: Mapping[str, str], *arguments: Any) -> None:  # noqa: ANN401 - those of a child's start
    os.environ.clear()
    os.environ.update(variables)
    apart._run_in_child(*arguments)  # noqa: SLF001 - the product's, in the child
