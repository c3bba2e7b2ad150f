"""Order of alerts and of their figures, the gravest first."""

from ..domain.alert import Alert, AlertFigure, AlertState, RuleKind
from ..statistics.catalogue import CATALOGUE
from ..statistics.intervals.verdicts import GRAVEST, Verdict
from ..statistics.measures.worst_group import measure_distance

_STATE_ORDER = (AlertState.OPEN, AlertState.ACKNOWLEDGED, AlertState.RESOLVED)

Gravity = tuple[int, float, float]


def rank_figure(figure: AlertFigure) -> Gravity:
    """Verdict, distance beyond the limit; of evidence, of the interval's end next to the limit.

    Ended figures come after the others, the newest first, and those without a value last.
    """
    if figure.ended_at is not None:
        return len(GRAVEST) + 1, -figure.ended_at.timestamp(), 0.0
    facts = figure.facts
    metric = CATALOGUE.get(figure.metric or "")
    if metric is None:
        return len(GRAVEST), 0.0, 0.0
    lower, upper = (read_number(facts.get(name)) for name in ("lower_limit", "upper_limit"))
    verdict, value = facts.get("verdict"), read_number(facts.get("value"))
    if figure.kind is RuleKind.EVIDENCE:
        verdict = Verdict.UNFAIR
        value = read_number(facts.get("lower" if lower is None else "upper"))
    distance = 0.0 if value is None else -measure_distance(value, metric, (lower, upper))
    return GRAVEST.index(Verdict(verdict) if isinstance(verdict, str) else None), distance, 0.0


def rank_alert(alert: Alert) -> tuple[int, Gravity]:
    rank = _STATE_ORDER.index(alert.state)
    return rank, (0, 0.0, 0.0) if alert.resolved_at is not None else rank_figure(alert.worst)


def read_number(fact: object) -> float | None:
    return float(fact) if isinstance(fact, int | float) else None
