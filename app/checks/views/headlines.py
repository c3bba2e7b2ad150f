"""Headlines of a check in sentences, and the words of verdicts."""

from collections.abc import Mapping, Sequence

from ...base.strict_json import JsonObject
from ...base.values import frozen, frozen_by_name
from ...domain.check import DataSet, Measurement
from ...domain.monitor import Comparison
from ...statistics.intervals.verdicts import GRAVEST, Verdict
from ...statistics.measures.worst_group import Disadvantaged
from ...statistics.sentences.everything_equal import say_everything_equal
from .explain_figure import build_judged_figure, describe_limits, describe_measurement, list_statements
from .view_source import list_notes_on_unseen

IMPACT = "disparate_impact"

DATA_NAMES = {DataSet.AS_LOGGED: "as logged", DataSet.COUNTERFACTUAL: "counterfactual"}

NOT_TOGETHER = (
    "There is no counterfactual figure of attributes that are watched together: the model is asked about "
    "copies in which one attribute is changed."
)
NOT_MEASURED = "This check measured no comparison here."

VERDICT_WORDS: Mapping[str | None, str] = {
    Verdict.FAIR: "fair",
    Verdict.UNDECIDED: "undecided",
    Verdict.UNWATCHED: "other side not watched",
    Verdict.SUSPECTED: "suspected",
    Verdict.UNFAIR: "unfair",
    Verdict.INSUFFICIENT_DATA: "not enough data",
    Verdict.NOT_COMPUTABLE: "not computable",
    None: "no limit set",
}


@frozen_by_name
class WordedFigure:
    """Figure in words: `sentence` says its value, `statements` say how sure it is."""

    measurement: Measurement
    group: str
    sentence: str
    statements: tuple[str, ...]
    limits: str
    disadvantaged: Disadvantaged | None
    disadvantaged_group: str | None

    @property
    def text(self) -> str:
        return " ".join((self.sentence, *self.statements, self.limits))


@frozen
class HeadlinePart:
    """Leading figure on one data set; without one, `absent` says why."""

    data: DataSet
    name: str
    figure: WordedFigure | None
    absent: str


@frozen_by_name
class Headline:
    """Headline of one attribute. `reading` says what its sentences mean together.

    `notes` say what the counterfactual figure of an unseen attribute means.
    """

    comparison: Comparison
    parts: tuple[HeadlinePart, ...]
    reading: str | None
    notes: tuple[str, ...]

    @property
    def attribute(self) -> str:
        return self.comparison.label

    @property
    def figures(self) -> list[Measurement]:
        return [part.figure.measurement for part in self.parts if part.figure]


def list_headlines(
    measurements: Sequence[Measurement], window: JsonObject | None = None
) -> tuple[Headline, ...]:
    """Lists headlines in the monitor's order, intersections last.

    The check's `window` says which attributes the model does not see.
    """
    notes_by_label = list_notes_on_unseen(window or {})
    worst = [
        measurement
        for measurement in measurements
        if measurement.worst_of is not None and measurement.data in DATA_NAMES
    ]
    comparisons = dict.fromkeys(
        measurement.comparison for measurement in worst if measurement.comparison.features
    )

    headlines = []
    for comparison in sorted(comparisons, key=lambda comparison: comparison.is_combination):
        absent = NOT_TOGETHER if comparison.is_combination else NOT_MEASURED
        parts = []
        for data, name in DATA_NAMES.items():
            candidates = [
                measurement
                for measurement in worst
                if measurement.comparison == comparison and measurement.data is data
            ]
            # Disparate impact, else the first figure that is compared with a limit.
            leading = min(
                candidates,
                key=lambda measurement: (measurement.metric != IMPACT, measurement.verdict is None),
                default=None,
            )
            parts.append(
                HeadlinePart(
                    data,
                    name.capitalize(),
                    word_figure(leading) if leading else None,
                    absent,
                )
            )

        notes = notes_by_label.get(comparison.label, ())
        logged, counterfactual = (part.figure for part in parts)
        reading = None
        # If the model does not see the attribute, a reading would be untrue.
        if logged and counterfactual and not notes:
            reading = explain_both(logged, counterfactual)
        headlines.append(
            Headline(
                comparison=comparison,
                parts=tuple(parts),
                reading=reading,
                notes=notes if counterfactual else (),
            )
        )
    return tuple(headlines)


def explain_both(logged: WordedFigure, counterfactual: WordedFigure) -> str | None:
    """Says how much of one group's gap stays with everything else equal; None if that is not known."""
    figures = (logged.measurement, counterfactual.measurement)
    if logged.group != counterfactual.group or any(figure.metric != IMPACT for figure in figures):
        return None
    ratios = [
        None if figure.value is None else (figure.value, figure.lower, figure.upper) for figure in figures
    ]
    return say_everything_equal(*ratios) or None


def word_figure(measurement: Measurement) -> WordedFigure:
    figure = build_judged_figure(measurement)
    return WordedFigure(
        measurement=measurement,
        group=str(measurement.group or measurement.details.monitored or ""),
        sentence=describe_measurement(measurement),
        statements=list_statements(measurement),
        limits=describe_limits(measurement),
        disadvantaged=figure.disadvantaged,
        disadvantaged_group=figure.disadvantaged_group,
    )


def summarize_headlines(headlines: Sequence[Headline]) -> list[tuple[str | None, list[str]]]:
    summary: list[tuple[str | None, list[str]]] = []
    for verdict in GRAVEST:
        attributes = []
        for headline in headlines:
            data_names = [
                part.name.lower()
                for part in headline.parts
                if part.figure and part.figure.measurement.verdict == verdict
            ]
            if data_names:
                attributes.append(f"{headline.attribute} ({', '.join(data_names)})")
        if attributes:
            summary.append((verdict, attributes))
    return summary
