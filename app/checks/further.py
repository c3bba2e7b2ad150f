"""What other rooms make of a check's window: measured on the same records, and stored in the same transaction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from sqlalchemy.orm import Session

from app.checks.evidence import Evidence
from app.checks.labelled import Labelled
from app.checks.subject import Subject
from app.checks.tabulation import Tabulated
from app.domain.checks import Measurement
from app.store.engine import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Further:
    """Tables, measurements and details beside the check's own. `store` writes what else there is, for the check of that number."""

    tables: Sequence[Tabulated] = ()
    measurements: Sequence[Measurement] = ()
    details: Mapping[str, object] = field(default_factory=dict)
    store: Callable[[Session, int], None] | None = None


Step: TypeAlias = Callable[[Subject, Evidence, Labelled | None, Database], Further]
"""Called once the outcomes of all copies are there; it must not ask the model."""
