"""One figure of a check, without building the views."""

from collections.abc import Iterable, Mapping
from typing import Final

from sqlalchemy.orm import Session

from ...base.errors import NotFound
from ...base.frozen import frozen
from ...database.binary_rows import read_row
from ...domain.check import DataSet, Measurement, Scope
from ...domain.deployment import Deployment
from ...domain.group_words import GroupWords
from ...statistics.catalogue import CATALOGUE
from .explain_figure import Explanation, explained
from .payload_view import EQUALITY, OPENSCALE, RATE, RATE_AFTER, RATE_BEFORE
from .training_view import training_figures
from .view_shapes import ViewKind
from .view_source import CountedCheck, read_check_source


@frozen(kw_only=True)
class MeasurementKey:
    """Identifies a measurement of a check, under REST's names.

    `group` is there in the scope `group` only, and may be empty: values may be blank. `attribute` None: of all records.
    """

    metric: str
    data: DataSet
    scope: Scope
    attribute: str | None
    group: str | None


@frozen
class _TableFigures:
    table: DataSet
    metrics: frozenset[str]


_NOT_STORED: Final = frozenset(key for key, metric in CATALOGUE.items() if not metric.is_stored)
_UNPICKED: Final[Mapping[DataSet, _TableFigures]] = {
    DataSet.PAYLOAD: _TableFigures(DataSet.PAYLOAD, frozenset({RATE})),
    DataSet.PAYLOAD_PERTURBED: _TableFigures(DataSet.BALANCED, frozenset({RATE, EQUALITY, OPENSCALE})),
    DataSet.BALANCED: _TableFigures(DataSet.BALANCED, frozenset({RATE})),
    DataSet.DEBIASED: _TableFigures(DataSet.DEBIASED, _NOT_STORED | {RATE_BEFORE, RATE_AFTER}),
    DataSet.DEBIASED_FEEDBACK: _TableFigures(DataSet.DEBIASED_FEEDBACK, _NOT_STORED),
}

VIEW_OF_DATA: Final[Mapping[DataSet, ViewKind]] = {
    DataSet.PAYLOAD: ViewKind.PAYLOAD,
    DataSet.PAYLOAD_PERTURBED: ViewKind.PAYLOAD_PERTURBED,
    DataSet.BALANCED: ViewKind.PAYLOAD_PERTURBED,
    DataSet.FEEDBACK: ViewKind.PAYLOAD,
    DataSet.TRAINING: ViewKind.TRAINING,
    DataSet.DEBIASED: ViewKind.DEBIASED,
    DataSet.DEBIASED_FEEDBACK: ViewKind.DEBIASED,
}
"""View that shows the figures of a data set."""


def make_measurement_key(measurement: Measurement) -> MeasurementKey:
    """The same figure has the same key in every check."""
    return read_row(MeasurementKey, measurement)


def explain_figure(session: Session, deployment: Deployment, counted: CountedCheck, key: MeasurementKey, names: GroupWords) -> Explanation:
    """Explains a figure of the check, or of the present training data; `names` name its groups.

    Raises:
        NotFound: the check has no such figure.
    """
    figures: Iterable[Measurement] = ()
    if key.data is DataSet.TRAINING:
        figures = training_figures(session, deployment)
    elif key.metric in CATALOGUE:
        rates = _UNPICKED.get(key.data)
        source = read_check_source(session, counted, data=[] if rates is None else [rates.table], metrics={key.metric})
        figures = source.figures
        if rates is not None and key.metric in rates.metrics:
            tables = (
                (comparison, stored)
                for (data, comparison), stored in source.tables.items()
                if (data, comparison.label) == (rates.table, key.attribute)
            )
            for comparison, stored in tables:
                figures = source.measured(key.data, comparison, key.metric, stored.whole)

    measurement = next((figure for figure in figures if make_measurement_key(figure) == key), None)
    if measurement is None:
        raise NotFound("figure of this check", ", ".join(str(name) for name in (key.metric, key.attribute, key.group) if name))
    return explained(names.rename(measurement))
