"""Sends the model the copies without outcome. Stores nothing: the check does, once all are there.

No transaction is open meanwhile; features are read in chunks.
"""

from collections.abc import Sequence

import numpy as np

from ...base.errors import InvalidInput
from ...base.frozen import frozen
from ...base.values import spelled
from ...calls.scoring.refused_records import Refusal
from ...domain.check import Progress
from ...domain.deployment import Column
from ...domain.monitor import Outcome
from ...domain.record import Prediction
from ...sources.arrays.column_cells import OutcomeClassifier
from ...sources.stored.copy_answers import CounterfactualLines, TargetKey
from ..ask_model import ModelOfCheck
from ..subject import Subject
from ..window.window import PayloadWindow
from ..window.window_records import CheckEvidence
from .copy_outcomes import TargetAnswers, encode_answers, target_key
from .copy_sources import AnsweredCopy, CopySource, Row, TargetCopies
from .not_scored import RefusedRecord

CHUNK = 50_000
"""Max copies built, scored and counted at a time."""

MOST_COPIES = 5_000_000
"""Max copies of one check: about 600 MB of bookkeeping, and a day of calls."""


@frozen
class Answers:
    lines: CounterfactualLines
    new_targets: dict[TargetKey, int]
    unclassified: str | None = None
    """An answer in neither outcome list, if any."""
    refused: tuple[RefusedRecord, ...] = ()
    """Records with refused copies, once for each."""
    rounded: int = 0
    """Answers whose probability became 0 or 1."""


def rescore(source: CopySource, model: ModelOfCheck, subject: Subject, evidence: CheckEvidence) -> Answers:
    """Scores every missing copy and repeat, and adds the answers to those of the evidence.

    Raises:
        ScoringFailed: no usable answer to some page, or no copy taken; nothing is kept.
        InvalidInput: the monitor needs more copies than one check scores.
    """
    attributes, window, schema = (
        (*evidence.copies, evidence.repeats),
        evidence.window,
        subject.deployment.schema,
    )
    missing = sum(attribute.to_score for attribute in attributes)
    if missing > MOST_COPIES:
        raise InvalidInput.of(
            "max_records",
            f"asks for {missing:,} copies in one check, and {MOST_COPIES:,} are the most; reduce it, or "
            "watch fewer values",
        )
    copies: list[AnsweredCopy] = []
    new_targets: dict[TargetKey, int] = {}
    for attribute in attributes:
        for target, records in attribute.missing():
            key = target_key(
                attribute.targets[target],
                model_revision=evidence.model_revision,
                schema_version=schema.version,
            )
            if key not in evidence.known_targets:
                new_targets[key] = source.reserve_number()
            kind = TargetCopies(attribute, target, key, (evidence.known_targets | new_targets)[key])
            draws = range(attribute.targets[target].draws)
            copies += [AnsweredCopy(kind, record, draw) for record in records.tolist() for draw in draws]
    copies.sort(key=lambda copy: copy.position)

    classify, record_nos = OutcomeClassifier(subject.monitor.outcomes), window.record_nos()
    unclassified: str | None = None
    refused: list[RefusedRecord] = []
    rounded = 0
    for start in range(0, len(copies), CHUNK):
        chunk = copies[start : start + CHUNK]
        progress = Progress(step="asking the model about copies", done=start, total=len(copies))
        answers = source.ask(
            model, window, chunk, _build_rows(source, window, chunk, schema.features), progress
        )
        answered_of: dict[TargetCopies, list[tuple[int, Prediction]]] = {}
        for copy, answer in zip(chunk, answers, strict=True):
            if isinstance(answer, Refusal):
                copy.kind.copies.refused[copy.position, copy.kind.target] = True
                refused.append(RefusedRecord(int(record_nos[copy.position]), answer))
            else:
                answered_of.setdefault(copy.kind, []).append((copy.position, answer))
                rounded += answer.is_rounded
        for kind, answered in answered_of.items():
            unclassified = _count(kind, answered, classify) or unclassified
    for attribute in attributes:
        attribute.leave_out_refused()
    return Answers(
        source.lines, new_targets if source.numbers_targets else {}, unclassified, tuple(refused), rounded
    )


def _build_rows(
    source: CopySource, window: PayloadWindow, chunk: Sequence[AnsweredCopy], columns: Sequence[Column]
) -> list[Row]:
    records, record_ids = sorted({copy.position for copy in chunk}), window.rows["record_id"]
    features, ids = source.features(window, records), {record: str(record_ids[record]) for record in records}
    numbers = {column.name: number for number, column in enumerate(columns)}
    rows = []
    for copy in chunk:
        # A copy, because the same features serve every copy of the record.
        row: Row = list(features[copy.position])
        for name, value in (
            copy.kind.copies.targets[copy.kind.target].changes(ids[copy.position], copy.draw).items()
        ):
            row[numbers[name]] = value
        rows.append(row)
    return rows


def _count(
    kind: TargetCopies, answered: Sequence[tuple[int, Prediction]], classify: OutcomeClassifier
) -> str | None:
    """Adds the answers of records; returns one that is in neither outcome list."""
    answers, records = (
        [answer for _, answer in answered],
        np.array([record for record, _ in answered], dtype=np.int64),
    )
    outcomes = np.array([classify(answer.outcome_value) for answer in answers], dtype=np.int64)
    kind.copies.add(kind.target, records, outcomes)
    if kind.copies.keeps(kind.target):
        kind.copies.answers.append(
            TargetAnswers(kind.target, records, *encode_answers(answers), are_new=True)
        )
    odd = np.flatnonzero(outcomes == Outcome.UNCLASSIFIED)
    return spelled(answers[odd[0]].outcome_value) if len(odd) else None
