"""Requests that are only checked: everything is done as if it were meant, and then taken back."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from fastapi import Depends, Query
from sqlalchemy.orm import Session


async def only_validated(
    *,
    validate_only: Annotated[
        bool, Query(description="Checks the body in full, answers with what would be stored, and stores nothing.")
    ] = False,
) -> bool:
    """Whether the request is only to be checked."""
    return validate_only


ValidateOnly = Annotated[bool, Depends(only_validated)]


@contextmanager
def kept_unless(session: Session, validate_only: bool) -> Iterator[None]:  # noqa: FBT001 - what the client said
    """What the block writes is taken back at its end where the request is only to be checked."""
    with session.begin_nested() as attempt:
        yield
        if validate_only:
            attempt.rollback()
