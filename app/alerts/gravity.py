"""Order of alerts and of their figures, the gravest first."""

from ..domain.alert import Alert, AlertFigure, AlertState, RuleKind
from ..statistics.catalogue import CATALOGUE
from ..statistics.intervals.verdicts import GRAVEST, Verdict
from ..statistics.measures.worst_group import measure_distance

_STATE_ORDER = (AlertState.OPEN, AlertState.ACKNOWLEDGED, AlertState.RESOLVED)

Gravity = tuple[int, float]
"""Rank among figures, the smallest first, and their order at equal rank."""


def rank_figure(figure: AlertFigure) -> Gravity:
    """Verdict, then distance beyond the limit; of evidence, that of the interval's end next to the limit.
    Figures without a metric come after the others, ended ones last, the newest first.
    """
    if figure.ended_at is not None:
        return len(GRAVEST) + 1, -figure.ended_at.timestamp()
    facts = figure.facts
    metric = CATALOGUE.get(figure.metric or "")
    if metric is None:
        return len(GRAVEST), 0.0
    lower, upper = (read_number(facts.get(name)) for name in ("lower_limit", "upper_limit"))
    verdict, value = facts.get("verdict"), read_number(facts.get("value"))
    if figure.kind is RuleKind.EVIDENCE:
        verdict = Verdict.UNFAIR
        value = read_number(facts.get("lower" if lower is None else "upper"))
    distance = 0.0 if value is None else -measure_distance(value, metric, (lower, upper))
    return GRAVEST.index(Verdict(verdict) if isinstance(verdict, str) else None), distance


def rank_alert(alert: Alert) -> tuple[int, Gravity]:
    """Compares states, then the worst figures; resolved alerts are equal."""
    gravity = (0, 0.0) if alert.resolved_at is not None else rank_figure(alert.worst)
    return _STATE_ORDER.index(alert.state), gravity


def read_number(fact: object) -> float | None:
    return float(fact) if isinstance(fact, int | float) else None
