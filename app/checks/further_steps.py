"""Steps of other rooms on a check's window, stored in the same transaction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TypeAlias

import pyarrow as pa
from sqlalchemy.orm import Session

from ..base.frozen import frozen
from ..database.engine import Database
from ..domain.check import Measurement
from .counting.tabulate import Tabulated
from .subject import Subject
from .window.known_labels import Labelled
from .window.window_records import CheckEvidence


@frozen(kw_only=True)
class Further:
    """Results in addition to the check's own. `store` writes the rest, for the check of that number.

    `flagged` are flags of records in files, which are written next to these; None where nothing was asked.
    """

    tables: Sequence[Tabulated] = ()
    measurements: Sequence[Measurement] = ()
    details: Mapping[str, object] = field(default_factory=dict)
    store: Callable[[Session, int], None] | None = None
    flagged: pa.Table | None = None


Step: TypeAlias = Callable[[Subject, CheckEvidence, Labelled | None, Database], Further]
"""Called once all copies have outcomes; must not call the model."""
