"""Every error the product raises on purpose. `app/web/problems.py` maps each class to an HTTP status."""

import copyreg
from collections.abc import Sequence
from typing import Any, TypeVar

from .values import frozen

T = TypeVar("T")


@frozen
class FieldProblem:
    """A problem of one field: its path, such as `attributes[0].monitored`, and what was expected and
    found.
    """

    field: str
    message: str


class EvenhandError(Exception):
    """The root. `str(error)` is a sentence for a person: what happened, to what, what to do."""

    def __reduce__(self) -> tuple[Any, ...]:
        # On the way between processes: `__init__` takes other arguments than the sentence.
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class InvalidInput(EvenhandError):
    """Input that breaks a stated rule; `problems` names every offending field, never none: made of them,
    or of one field and its message.
    """

    def __init__(self, problems: Sequence[FieldProblem] | str, message: str = "") -> None:
        if isinstance(problems, str):
            problems = [FieldProblem(problems, message)]
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{problem.field}: {problem.message}" for problem in self.problems))


def refuse(problems: Sequence[FieldProblem]) -> None:
    if problems:
        raise InvalidInput(problems)


class NotFound(EvenhandError):
    """The named thing does not exist, or not for this caller."""

    def __init__(self, kind: str, name: object) -> None:
        super().__init__(f"There is no {kind} {name!s}.")


def require_present(value: T | None, kind: str, name: object) -> T:
    if value is None:
        raise NotFound(kind, name)
    return value


class Conflict(EvenhandError):
    """The request contradicts the stored state."""


class TooLarge(EvenhandError):
    """A body or batch over a stated limit."""


class UnsupportedMediaType(EvenhandError):
    """A body in a form that is not understood there; the message says which are."""


class Unauthenticated(EvenhandError):
    """No API key was sent, or it is unknown, revoked or expired."""


class Forbidden(EvenhandError):
    """The key is known but lacks the permission."""


class TooManyTries(EvenhandError):
    """Log-ins of this name from this address failed too often of late; the message says when to try again."""


class RateReached(EvenhandError):
    """The key sends more requests or records a second than it may; nothing was stored."""

    def __init__(self, message: str, *, retry_after_seconds: int = 1) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class QuotaReached(EvenhandError):
    """The key has stored as many bytes of records as it may; nothing was stored."""


class CallLoop(EvenhandError):
    """A call that this installation made itself, or that came through too many others."""


class Unavailable(EvenhandError):
    """A dependency (usually Postgres) does not answer now; nothing was stored and the request may be
    repeated.
    """


class ReportNotMade(EvenhandError):
    """A report that was asked for is not there; the message says why. Without `retry_after_seconds`,
    another try would fail alike.
    """

    def __init__(self, message: str, *, retry_after_seconds: int | None = 60) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class ScoringFailed(EvenhandError):
    """The model's endpoint gave no usable predictions.

    `quotation` is what it answered, which may repeat a person's values: only for callers who may read
    records.
    """

    def __init__(self, message: str, *, quotation: str = "") -> None:
        super().__init__(message)
        self.quotation = quotation

    @property
    def quoting(self) -> str:
        return f'{self} Its answer began: "{self.quotation}".' if self.quotation else str(self)


class EndpointRefused(ScoringFailed):
    """The endpoint's address is one we never call (link-local, metadata, or outside the allow-list)."""


class PageRefused(ScoringFailed):
    """The model's endpoint answered that it does not take a page of records (400 or 422); `answer` is what
    it sent.
    """

    def __init__(self, message: str, *, quotation: str = "", answer: str = "") -> None:
        super().__init__(message, quotation=quotation)
        self.answer = answer


class EndpointDown(ScoringFailed):
    """The model's endpoint was not reached, did not answer in time, or answered that it cannot do so now,
    in every attempt.
    """


class CheckTooLong(EvenhandError):
    """The check used up its time; the message says at what, and what to do."""


class CheckCancelled(EvenhandError):
    """A person cancelled the check while it ran."""


class LeaseLost(EvenhandError):
    """The check's lease ran out and another worker may own it: nothing more may be written."""


class SetupError(EvenhandError):
    """The machine or the settings do not allow what was asked; the message says what to change."""
