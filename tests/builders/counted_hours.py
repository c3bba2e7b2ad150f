"""Counts of hours, put straight into the store: thousands of hours whose records are not the point."""

import uuid
from collections.abc import Sequence
from datetime import datetime

import numpy as np
from sqlalchemy import insert

from app.database.tables import CheckRow, CheckTableRow
from app.deployments.monitor.queries import find_monitor
from app.domain.check import CheckState, DataSet, Span, Trigger
from app.evidence.queries.eras import begin_era, find_era, note_progress, read_followed_deployment
from app.evidence.queries.hour_counts import CountedHour, CountedPlace, replace_hours
from app.evidence.settle import settle_figures
from app.evidence.watched_figures import FollowedEra
from app.sources.stored.window_queries import note_changed_hours
from app.statistics.e_values.nulls import Hours
from app.statistics.group_labels import ComparedGroup
from app.statistics.tables.record_kinds import CounterfactualCells
from tests.builders.evidence_worlds import START
from tests.scenes import HOUR, Scene

GROUPS = (ComparedGroup("female", "monitored"), ComparedGroup("male", "reference"))


def load_hours(stage: Scene, hours: Hours) -> datetime:
    """Stores the counts by sex of successive hours as if their records had been counted, and returns the end of the last hour."""
    place, span = CountedPlace(DataSet.AS_LOGGED, "sex"), Span(start=START, end=START + len(hours) * HOUR)
    sides = zip(hours.monitored.favourable, hours.monitored.records, hours.reference.favourable, hours.reference.records, strict=True)
    counted = [
        CountedHour(
            place=place,
            hour=START + number * HOUR,
            cells=[["female", "monitored", int(one), int(ones)], ["male", "reference", int(other), int(others)]],
        )
        for number, (one, ones, other, others) in enumerate(sides)
    ]
    with stage.database.transaction() as session:
        monitor, deployment = find_monitor(session, stage.deployment.no), read_followed_deployment(session, stage.deployment.no)
        assert monitor is not None
        begin_era(session, deployment.no, monitor.version, deployment.model_revision, starts_at=None)
        era = find_era(session, deployment.no, deployment.model_revision)
        assert era is not None
        replace_hours(session, era.no, DataSet.AS_LOGGED, span, counted, {place.attribute: span.start})
        settle_figures(session, FollowedEra(deployment, monitor, era), (), DataSet.AS_LOGGED, span, counted)
        note_progress(session, era.no, counted_until=span.end)
    return span.end


def draw_pairs(
    ratio: float, seed: int, *, records: int = 300, share: float = 0.3, base: float = 0.5, gain: float = 0.01
) -> CounterfactualCells:
    """Returns one hour of records and their copies of the other sex, whose counterfactual ratio is `ratio`.

    `gain` is the share of all records that are approved only as women.
    """
    rng = np.random.default_rng(seed)
    as_man = rng.random(records) < base
    stay_share = (base * ratio - gain) / base
    as_woman = np.where(as_man, rng.random(records) < stay_share, rng.random(records) < gain / (1 - base))
    codes = np.where(rng.random(records) < share, 0, 1)
    own, other = np.where(codes == 0, as_woman, as_man), np.where(codes == 0, as_man, as_woman)
    classified = np.zeros((records, 2), np.int64)
    classified[np.arange(records), 1 - codes] = 1
    return CounterfactualCells.from_records(
        GROUPS,
        codes,
        outcome=own.astype(np.int64),
        copies_favourable=classified * other[:, None].astype(np.int64),
        copies_classified=classified,
    )


def add_checks(stage: Scene, tables: Sequence[CounterfactualCells], first: datetime = START) -> None:
    """Stores succeeded checks of successive whole hours with these tables, and notes their hours, as the end of a check does."""
    hours = [first + number * HOUR for number in range(len(tables))]
    common = {
        "deployment_no": stage.deployment.no,
        "trigger": Trigger.RANGE,
        "state": CheckState.SUCCEEDED,
        "claimable_at": None,
        "attempts": 1,
        "cancel_requested": False,
        "monitor_version": stage.monitor().version,
        "model_revision": stage.deployment.model_revision,
        "created_by": "test",
    }
    with stage.database.transaction() as session:
        nos = [
            session.execute(
                insert(CheckRow).values(id=str(uuid.uuid4()), span_start=hour, span_end=hour + HOUR, **common).returning(CheckRow.no)
            ).scalar_one()
            for hour in hours
        ]
        counterfactual = {"data": DataSet.COUNTERFACTUAL.value, "attribute": "sex", "part": "span"}
        session.execute(
            insert(CheckTableRow),
            [{"check_no": no, **counterfactual, "cells": table.to_json()} for no, table in zip(nos, tables, strict=True)],
        )
        note_changed_hours(session, stage.deployment.no, hours)
