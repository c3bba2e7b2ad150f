"""The traffic of a loan desk: scored applicants by the hour, some with a later label."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from ...base.clock import HOUR
from ...base.frozen import frozen
from ...base.strict_json import JsonObject
from .applicants import Applicant, applicants, outcomes
from .client import Http, score

SEED = 7
QUIET, BUSY, BUSIEST_HOUR = 150, 420, 13
"""Applicants per hour at the quietest and the busiest time, and the busiest hour (UTC)."""

SHARE_LABELLED = 0.4
LATEST_LABEL = timedelta(hours=12)


@frozen
class Visit:
    id: str
    at: datetime
    applicant: Applicant


@dataclass(frozen=True, slots=True, order=True)
class Label:
    """The outcome of a loan, sorted by when it becomes known."""

    known_at: datetime
    id: str
    outcome: str

    def record(self) -> JsonObject:
        return {"id": self.id, "label": self.outcome, "labelled_at": self.known_at.isoformat()}


def payload_records(visits: Sequence[Visit], model: Http) -> list[JsonObject]:
    answers = score(model, [visit.applicant for visit in visits])
    return [
        {
            "id": visit.id,
            "scored_at": visit.at.isoformat(),
            "features": visit.applicant,
            "prediction": answer["prediction"],
            "probability": answer["probability"],
            "label": answer["predictedLabel"],
        }
        for visit, answer in zip(visits, answers, strict=True)
    ]


def hour_of_visits(hour: datetime) -> tuple[list[Visit], list[Label]]:
    """Returns visitors and labels of the hour that begins at `hour`; the same for the same hour."""
    # Whichever hours came before it.
    random = np.random.default_rng([SEED, int(hour.timestamp())])
    wave = (1 + math.cos(2 * math.pi * (hour.hour - BUSIEST_HOUR) / 24)) / 2
    people = applicants(round(QUIET + (BUSY - QUIET) * wave), random)
    times = [hour + share * HOUR for share in sorted(random.random(len(people)))]
    visits = [
        Visit(f"{hour:%Y%m%dT%H}-{no:03}", at, applicant)
        for no, (at, applicant) in enumerate(zip(times, people, strict=True))
    ]
    return visits, draw_labels(visits, LATEST_LABEL, random)


def draw_labels(visits: Sequence[Visit], latest: timedelta, random: np.random.Generator) -> list[Label]:
    """Returns the outcomes of some visitors' loans, due up to `latest` after the visit."""
    drawn = zip(
        visits,
        outcomes([visit.applicant for visit in visits], random),
        random.random((len(visits), 2)),
        strict=True,
    )
    return [
        Label(visit.at + float(delay) * latest, visit.id, outcome)
        for visit, outcome, (chance, delay) in drawn
        if chance < SHARE_LABELLED
    ]
