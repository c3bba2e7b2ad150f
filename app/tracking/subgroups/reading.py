"""Records with the features of a scan, each once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...domain.checks import Span
from ...domain.outcomes import Outcome
from ...records.alike import choose_alike
from ...records.outcomes import outcome_codes
from ...store.database.arrow import ArrowReader
from ...store.evidence.records import records_between
from ...store.records.window import VALUE_PREFIX, WindowQuery
from ..counting import FollowedEra, number_hours
from ..people import ChoosesRecords


@dataclass(frozen=True, slots=True, eq=False)
class FeatureRecords:
    """Records that count [N]: `columns` by name, and whether each is favourable."""

    columns: Mapping[str, pa.ChunkedArray]
    favourable: npt.NDArray[np.bool_]


def read_features(
    reader: ArrowReader, followed: FollowedEra, names: Sequence[str], span: Span, people: ChoosesRecords | None
) -> Iterator[FeatureRecords]:
    """Yields the classified records of each schema version with all these columns, each person's first.

    Where rates of logging differ within an hour, the higher are thinned to the lowest.
    """
    person = followed.monitor.evidence.person
    wanted = tuple(dict.fromkeys([*names, *([] if person is None else [person])]))
    for schema in followed.deployment.schemas:
        if any(schema.column(name) is None for name in wanted):
            continue
        rows = records_between(reader, WindowQuery(followed.deployment.no, schema, wanted), span, followed.era.model_revision)
        if not rows.num_rows:
            continue
        columns = {name: rows[f"{VALUE_PREFIX}{place}"] for place, name in enumerate(wanted)}
        outcomes = outcome_codes(rows["outcome"], followed.monitor.outcomes)
        counts = outcomes != Outcome.UNCLASSIFIED
        if people is not None and person is not None:
            counts &= people.choose(columns[person], rows)
        hours = number_hours(rows["logged_at"], span)
        # A subgroup that is logged more often would look larger than it is.
        counts &= choose_alike(rows["record_no"].to_numpy(), rows["sample_rate"], hours)
        kept = pa.array(counts)
        yield FeatureRecords({name: columns[name].filter(kept) for name in names}, (outcomes == Outcome.FAVOURABLE)[counts])
