"""Every error the product raises on purpose. HTTP statuses are not here: `app/web/problems.py` maps each class to one.

The tree:

    EvenhandError
    ├── InvalidInput        what was sent breaks a rule; names each offending field
    ├── NotFound            the thing named does not exist (or is not visible to the caller)
    ├── Conflict            it exists already, or its state forbids the request
    ├── TooLarge            a body or batch over a stated limit
    ├── UnsupportedMediaType a body in a form that is not understood there
    ├── Unauthenticated     no key, or not one of ours
    ├── Forbidden           a key of ours without the permission
    ├── TooManyTries        log-ins failed too often of late
    ├── Unavailable         something we depend on does not answer now; try again
    ├── ScoringFailed       the model's endpoint did not give usable predictions
    │   └── EndpointRefused the address may not be called at all
    ├── CheckCancelled      a person stopped the check
    ├── LeaseLost           another worker owns the check now; this one must write nothing
    └── SetupError          the machine or the settings do not allow a start
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """One offending field: a dotted path such as `attributes[0].monitored`, and what was expected and found."""

    field: str
    message: str


class EvenhandError(Exception):
    """The root. `str(error)` is a sentence for a person: what happened, to what, what to do."""


class InvalidInput(EvenhandError):
    """Input that breaks a stated rule; `problems` names every offending field, never none."""

    def __init__(self, problems: Sequence[FieldProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{p.field}: {p.message}" for p in self.problems))

    @classmethod
    def of(cls, field: str, message: str) -> "InvalidInput":
        """The common case: one field, one message."""
        return cls([FieldProblem(field, message)])


class NotFound(EvenhandError):
    """The named thing does not exist, or not for this caller."""

    def __init__(self, what: str, name: object) -> None:
        super().__init__(f"There is no {what} {name!s}.")


class Conflict(EvenhandError):
    """The request contradicts what is stored."""


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


class Unavailable(EvenhandError):
    """A dependency (usually Postgres) does not answer now; nothing was stored and the request may be repeated."""


class ScoringFailed(EvenhandError):
    """The model's endpoint gave no usable predictions; the message says what it answered."""


class EndpointRefused(ScoringFailed):
    """The endpoint's address is one we never call (link-local, metadata, or outside the allow-list)."""


class CheckCancelled(EvenhandError):
    """A person cancelled the check while it ran."""


class LeaseLost(EvenhandError):
    """The check's lease ran out and another worker may own it: nothing more may be written."""


class SetupError(EvenhandError):
    """The machine or the settings do not allow what was asked; the message says what to change."""
