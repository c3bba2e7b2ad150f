"""Counts pairs of records and their counterfactuals: by the table of the hour's check or, where a column says
whose record each is, of each person's first record alone.
"""

from dataclasses import replace

import numpy as np
from sqlalchemy.orm import Session

from ..base.clock import HOUR
from ..base.errors import InvalidInput
from ..checks.copies.copy_outcomes import plan_copies
from ..checks.counting.tabulate import count_copies
from ..checks.window.window import LoggedRecords, read_payload_window
from ..checks.window.window_records import read_answers_so_far
from ..database.engine import ArrowReader
from ..deployments.training.queries import read_donors
from ..deployments.training.unseen_groups import find_donors_of_groups
from ..domain.check import Span
from ..domain.monitor import POOLED_GROUP
from ..sources.stored.window_queries import WindowQuery
from ..statistics.group_labels import NEITHER, find_positions
from ..statistics.measures.paired_rates import PairedRate
from ..statistics.measures.perturbed_data import COUNTERFACTUAL_PHRASES
from ..statistics.tables.record_kinds import CounterfactualCells
from .first_records import FirstRecords
from .queries.eras import CounterfactualTable
from .queries.hour_counts import COUNTED, Cells
from .watched_figures import FollowedEra


def count_pairs(table: CounterfactualCells) -> Cells:
    """Counts each monitored group's kinds of records (pairs of outcomes, and how many have each), and the
    records in any pair.

    Empty without counterfactuals, or if some records represent more.
    """
    if not table.copies_classified.any() or table.has_unequal_weights:
        return []
    paired = PairedRate(COUNTERFACTUAL_PHRASES, table)
    references = find_positions(table.groups, "reference")
    cells: Cells = []
    is_counted = np.zeros(len(table.count), np.bool_)
    compared = [[position] for position in find_positions(table.groups, "monitored")]
    if len(compared) > 1:
        compared.append([position for [position] in compared])
    for positions in compared:
        kinds: dict[tuple[float, float], int] = {}
        figures = paired.compute_figures(positions, references)
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


def count_first_pairs(
    session: Session,
    reader: ArrowReader,
    followed: FollowedEra,
    table: CounterfactualTable,
    people: FirstRecords,
) -> Cells:
    """Counts pairs of each person's first record alone, among the records that the table's check read, as
    their copies are answered by now.
    """
    deployment = followed.deployment
    schema = deployment.schema
    readable = followed.monitor.restrict_to(schema)
    person = readable.evidence.person
    attribute = next(
        (candidate for candidate in readable.attributes if candidate.feature == table.attribute), None
    )
    if attribute is None or person is None or schema.column(person) is None:
        return []
    monitor = replace(readable, attributes=(attribute,), intersections=(), min_records=0)
    source = LoggedRecords(reader, deployment.no)
    query = WindowQuery(deployment.no, schema, (*attribute.columns, person))
    window = read_payload_window(source, query, Span(start=table.hour, end=table.hour + HOUR), monitor)
    if not len(window):
        return []
    revision = followed.era.model_revision
    read = window.read_table("outcome", schema, monitor)
    is_counted = window.mark_revision(revision) & people.choose(window.values()[person], window.rows)
    grouping = replace(read.groupings[0], codes=np.where(is_counted, read.groupings[0].codes, NEITHER))
    donors = None
    try:
        if features := attribute.correlated_features:
            of_field = read_donors(session, deployment.no, [table.attribute])[table.attribute]
            donors = find_donors_of_groups(of_field, grouping.groups, grouping.column, schema, features)
        is_feature = any(column.name == table.attribute for column in schema.features)
        copies = plan_copies(grouping, read.outcomes, monitor, seen_by_model=is_feature, donors=donors)
    except (InvalidInput, KeyError):  # the training data were changed since the check
        return []
    read_answers_so_far(source, window, copies, schema, monitor, revision)
    for target, records in copies.list_missing():
        copies.refused[records, target] = True  # it is in no table of the check either
    copies.leave_out_refused()
    return count_pairs(count_copies(copies, read.outcomes, window))
