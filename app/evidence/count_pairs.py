"""Counts pairs of records and their counterfactuals: by the table of the hour's check or, where a column says
whose record each is, of each person's first record alone.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

import numpy as np
from sqlalchemy.orm import Session

from ..base.clock import HOUR
from ..checks.copies.copy_outcomes import plan_copies
from ..checks.counting.tabulate import count_copies
from ..checks.window.window import LoggedRecords, read_payload_window
from ..checks.window.window_records import read_answers_so_far
from ..database.engine import ArrowReader
from ..deployments.training.queries import read_donors
from ..deployments.training.unseen_groups import donors_of_groups
from ..domain.check import Span
from ..domain.monitor import POOLED_GROUP
from ..sources.stored.window_queries import WindowQuery
from ..statistics.group_labels import NEITHER, of_role
from ..statistics.measures.paired_rates import Paired
from ..statistics.measures.perturbed_data import COUNTERFACTUAL
from ..statistics.tables.record_kinds import CounterfactualCells
from .count_hours import FollowedEra
from .first_records import FirstRecords
from .queries.hour_counts import COUNTED, Cells


def count_pairs(table: CounterfactualCells) -> Cells:
    """Each monitored group's kinds of records of a counterfactual table: pairs of outcomes, and how many have
    each; records in any pair.

    Empty without counterfactuals, or if some records represent more: the bet is only proved for records
    that count alike.
    """
    if not table.copies_classified.any() or table.has_unequal_weights:
        return []
    paired = Paired(COUNTERFACTUAL, table)
    references = of_role(table.groups, "reference")
    cells: Cells = []
    is_counted = np.zeros(len(table.count), np.bool_)
    monitored_groups = [[position] for position in of_role(table.groups, "monitored")]
    if len(monitored_groups) > 1:
        monitored_groups.append([position for [position] in monitored_groups])
    for positions in monitored_groups:
        kinds: dict[tuple[float, float], int] = {}
        figures = paired.figures(positions, references)
        is_counted |= ~np.isnan(figures[0])
        for monitored, reference, count in zip(*figures, table.count, strict=True):
            if not np.isnan(monitored):
                key = (float(monitored), float(reference))
                kinds[key] = kinds.get(key, 0) + int(count)
        if kinds:
            cells.append(
                [
                    POOLED_GROUP if len(positions) > 1 else table.groups[positions[0]].label,
                    "monitored",
                    [[*key, count] for key, count in sorted(kinds.items())],
                ]
            )
    counted = replace(table, count=table.count * is_counted).outcomes.tolist()
    return cells and cells + [
        [label, f"{role} {COUNTED}", favourable, unfavourable + favourable]
        for (label, role), (unfavourable, favourable) in zip(table.groups, counted, strict=True)
    ]


def read_first_pairs(
    session: Session, reader: ArrowReader, followed: FollowedEra, hour: datetime, people: FirstRecords
) -> Iterator[tuple[str, CounterfactualCells]]:
    """Yields each attribute's table of the records that a check of the hour read, as the present model has
    answered their copies; of each person the first record alone.
    """
    deployment = followed.deployment
    schema = deployment.schema
    monitor = followed.monitor.within(schema)
    person = monitor.evidence.person
    if person is None or schema.column(person) is None:
        return
    names = [name for attribute in monitor.attributes for name in attribute.columns]
    query = WindowQuery(deployment.no, schema, tuple(dict.fromkeys([*names, person])))
    source = LoggedRecords(reader, deployment.no)
    window = read_payload_window(
        source, query, Span(start=hour, end=hour + HOUR), replace(monitor, min_records=0)
    )
    if not len(window):
        return
    read = window.read("outcome", schema, monitor)
    revision = followed.era.model_revision
    is_counted = window.is_of(revision) & people.choose(window.values()[person], window.rows)
    correlated = [attribute.feature for attribute in monitor.attributes if attribute.correlated_features]
    donors = read_donors(session, deployment.no, correlated)
    features = {column.name for column in schema.features}
    for attribute, grouping in zip(monitor.attributes, read.groupings, strict=True):
        name = attribute.feature
        if attribute.rule is not None or (
            (correlated_features := attribute.correlated_features) and name not in donors
        ):
            continue
        copies = plan_copies(
            replace(grouping, codes=np.where(is_counted, grouping.codes, NEITHER)),
            read.outcomes,
            monitor,
            seen_by_model=name in features,
            donors=donors_of_groups(
                donors[name], grouping.groups, grouping.column, schema, correlated_features
            )
            if correlated_features
            else None,
        )
        read_answers_so_far(source, window, copies, schema, monitor, revision)
        for target, records in copies.missing():
            copies.refused[records, target] = True  # it is in no table of the check either
        copies.leave_out_refused()
        yield name, count_copies(copies, read.outcomes, window)
