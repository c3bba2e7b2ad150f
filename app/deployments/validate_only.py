"""Requests that are only checked."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from fastapi import Query
from sqlalchemy.orm import Session

ValidateOnly = Annotated[
    bool, Query(description="Checks the body in full, answers with what would be stored, and stores nothing.")
]


@contextmanager
def keep_unless(session: Session, validate_only: bool) -> Iterator[None]:  # noqa: FBT001 - what the client said
    """Rolls back what is stored within if the request is only checked."""
    # A savepoint: the transaction stays usable.
    with session.begin_nested() as attempt:
        yield
        if validate_only:
            attempt.rollback()
