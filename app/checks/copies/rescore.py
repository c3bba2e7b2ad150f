"""Asks the model about the copies without an outcome. No transaction is open meanwhile.

Two sources of copies: records in Postgres, whose answers the check stores once all are there
(`LoggedCopies`), and records in files, next to which each page of answers is kept at once (`FiledCopies`, by
tasks on executors).
"""

import json
import pickle
import secrets
from collections.abc import Sequence
from dataclasses import field, replace
from datetime import timedelta
from math import ceil
from pathlib import Path

import numpy as np
import pyarrow as pa

from ...base.errors import InvalidInput
from ...base.values import Scalar, frozen, frozen_arrays, spelled
from ...calls.egress_policy import EgressPolicy
from ...calls.scoring.loaded_model import InProcessModel
from ...calls.scoring.scoring_client import Refusal, Scored, ScoringClient
from ...database.engine import Database, arrow_reader
from ...domain.check import Progress, Span
from ...domain.deployment import Column, Deployment, Endpoint
from ...domain.monitor import Outcome
from ...domain.record import Prediction
from ...sources.arrays.favourable_scores import OutcomeClassifier, parse_value
from ...sources.stored.copy_answers import CounterfactualLines, TargetKey, reserve_target_number
from ...sources.stored.window_queries import read_record_features
from ...sources.tables.own_files import KeptAnswers
from ...sources.tables.record_files import PayloadFiles
from ...sources.tables.table_files import Engine
from ..subject import ModelOfCheck, Report, Subject
from ..window.window import PayloadWindow
from ..window.window_records import CheckEvidence
from .copy_outcomes import CopyOutcomes, TargetAnswers, encode_answers, make_target_key
from .refusals import RefusedRecord

MAX_COPIES = 5_000_000
"""Copies of one check: they take about 600 MB of bookkeeping, and a day of calls."""

COPIES_PER_CHUNK = 50_000
"""Copies whose features are read and sent to the model at a time."""

MAX_WAVES = 20
"""Batches that each executor gets after one another: between them the progress is reported."""

PAGES_PER_BATCH = 4
"""Pages of the endpoint that a batch has at least."""

Row = list[Scalar | None]
"""Features of a record, in the order of the schema."""


@frozen
class CopyToAsk:
    key: TargetKey
    record_id: str
    draw: int
    row: Row


@frozen
class AskTask:
    """Asks the model about copies without a stored answer, on an executor; it holds the endpoint's secrets.

    Each page of answers is stored in a file before the next page is sent: if an executor dies, only the page
    under way is asked again. An MLflow model is loaded once in an executor's process, for all pieces with the
    same `turn`.
    """

    endpoint: Endpoint
    deployment: Deployment
    policy: EgressPolicy
    store: KeptAnswers
    turn: str = field(default_factory=lambda: secrets.token_hex(8))

    def __call__(self, piece: bytes) -> bytes:
        """Takes the number of a batch and its copies, pickled; returns the number and their answers."""
        number, copies = pickle.loads(piece)  # noqa: S301 - written by `send_to_executors`
        answers = self._find_stored_answers(copies)
        features = self.deployment.schema.features
        loaded = (
            InProcessModel(self.endpoint.uri, self.policy.model_prefixes, self.turn)
            if self.endpoint.is_loaded
            else None
        )
        client = ScoringClient(
            self.endpoint,
            self.deployment.outputs,
            [column.name for column in features],
            types=[column.type for column in features],
            policy=self.policy,
            loaded=loaded,
        )
        missing = [position for position in range(len(copies)) if position not in answers]
        page_size = self.endpoint.page_size * self.endpoint.concurrency
        for start in range(0, len(missing), page_size):
            positions = missing[start : start + page_size]
            scored = client.score([copies[position].row for position in positions])
            self.store_answers([copies[position] for position in positions], scored)
            answers |= zip(positions, scored, strict=True)
        return pickle.dumps((number, [answers[position] for position in range(len(copies))]))

    def _find_stored_answers(self, copies: Sequence[CopyToAsk]) -> dict[int, Scored]:
        # The check has looked for them, too; but an executor may have died since.
        answers: dict[int, Scored] = {}
        for key in {copy.key for copy in copies}:
            positions = {
                (copy.record_id, copy.draw): position
                for position, copy in enumerate(copies)
                if copy.key == key
            }
            record_ids = pa.array([record_id for record_id, _ in positions], pa.string())
            for row in self.store.read_draws(key, record_ids).to_pylist():
                position = positions.get((row["record_id"], row["draw"]))
                if position is not None:
                    probability = None if row["probability"] is None else json.loads(row["probability"])
                    if isinstance(probability, list):
                        probability = tuple(probability)
                    answers[position] = Prediction(parse_value(row["outcome"]), probability)
        return answers

    def store_answers(self, copies: Sequence[CopyToAsk], scored: Sequence[Scored]) -> list[Path]:
        """Stores the answers, one file for each key; refusals are not stored."""
        files = []
        for key in {copy.key for copy in copies}:
            answered = [
                (copy, answer)
                for copy, answer in zip(copies, scored, strict=True)
                if copy.key == key and isinstance(answer, Prediction)
            ]
            if answered:
                ids, draws = zip(*((copy.record_id, copy.draw) for copy, _ in answered), strict=True)
                files.append(self.store.keep(key, ids, draws, [answer for _, answer in answered]))
        return files


def send_to_executors(
    engine: Engine, task: AskTask, copies: Sequence[CopyToAsk], report: Report, progress: Progress
) -> list[Scored]:
    """Divides copies among executors, which together keep to the endpoint's limits. Raises ScoringFailed."""
    endpoint = task.endpoint
    shares = max(1, min(engine.slots, endpoint.concurrency, len(copies)))
    rate = None if endpoint.requests_per_second is None else endpoint.requests_per_second / shares
    shared_task = replace(
        task, endpoint=replace(endpoint, concurrency=endpoint.concurrency // shares, requests_per_second=rate)
    )
    min_batch = PAGES_PER_BATCH * endpoint.page_size * endpoint.concurrency
    waves = max(1, min(MAX_WAVES, len(copies) // min_batch))
    batch_size = ceil(len(copies) / (shares * waves))
    batches = [copies[start : start + batch_size] for start in range(0, len(copies), batch_size)]
    answers = {}
    # Never more batches at a time than have a share of the limits.
    for first in range(0, len(batches), shares):

        def report_done(ended: int, first: int = first) -> None:
            report(replace(progress, done=progress.done + sum(map(len, batches[: first + ended]))))

        pieces = [
            pickle.dumps((number, batch))
            for number, batch in enumerate(batches[first : first + shares], first)
        ]
        for answer in engine.run(shared_task, pieces, report_done):
            number, scored = pickle.loads(answer)  # noqa: S301 - written by the task
            answers[number] = scored
    return [answer for number in range(len(batches)) for answer in answers[number]]


@frozen_arrays
class TargetCopies:
    """Copies into the target at `position`, whose row in the database is `number` (0 in files)."""

    copies: CopyOutcomes
    position: int
    key: TargetKey
    number: int


@frozen
class PendingCopy:
    """Copy that has no outcome; `record` is the position of its record in the window."""

    target: TargetCopies
    record: int
    draw: int


@frozen
class LoggedCopies:
    """Copies of records in Postgres. Answers are stored with the check's result, so not if it fails."""

    database: Database
    deployment_no: int
    lines: CounterfactualLines = field(default_factory=CounterfactualLines)

    def read_features(self, window: PayloadWindow, positions: Sequence[int]) -> dict[int, Row]:
        """Reads the features of the records at these positions, in a short transaction."""
        record_nos = window.record_nos()[list(positions)].tolist()
        with arrow_reader(self.database) as reader:
            features = read_record_features(reader, self.deployment_no, window.reach(), record_nos)
        return {position: features[no] for position, no in zip(positions, record_nos, strict=True)}

    def reserve_number(self) -> int:
        with self.database.transaction() as session:
            return reserve_target_number(session)

    def ask(
        self,
        model: ModelOfCheck,
        window: PayloadWindow,
        copies: Sequence[PendingCopy],
        rows: list[Row],
        progress: Progress,
    ) -> list[Scored]:
        """Asks about the copies, whose features are `rows`. Raises ScoringFailed."""
        answers = model.score(rows, progress)
        record_nos = window.record_nos()
        answered = [
            (copy, answer)
            for copy, answer in zip(copies, answers, strict=True)
            if isinstance(answer, Prediction)
        ]
        answer_keys = [(copy.target.number, int(record_nos[copy.record]), copy.draw) for copy, _ in answered]
        self.lines.add(answer_keys, [answer for _, answer in answered])
        return answers


@frozen
class FiledCopies:
    """Copies of records in files. Answers are stored as they come: a repeated check asks for none again.

    `deployment` has its endpoint removed: an executor gets no more secrets than those of `endpoint`.
    """

    deployment: Deployment
    endpoint: Endpoint
    files: PayloadFiles
    store: KeptAnswers
    engine: Engine
    lines: CounterfactualLines = field(default_factory=CounterfactualLines)

    def read_features(self, window: PayloadWindow, positions: Sequence[int]) -> dict[int, Row]:
        reach = window.reach()
        ids = window.rows["record_id"]
        id_by_position = {position: str(ids[position]) for position in positions}
        # A span does not hold its end, the time of the newest record.
        span = Span(reach.start, reach.end + timedelta.resolution)
        features = self.files.features(list(id_by_position.values()), span)
        for record_id in id_by_position.values():
            if record_id not in features:
                raise InvalidInput(
                    "payload.location",
                    f"record {record_id} vanished from the table while the check ran; check again",
                )
        return {position: features[record_id] for position, record_id in id_by_position.items()}

    def reserve_number(self) -> int:
        return 0

    def ask(
        self,
        model: ModelOfCheck,
        window: PayloadWindow,
        copies: Sequence[PendingCopy],
        rows: list[Row],
        progress: Progress,
    ) -> list[Scored]:
        ids = window.rows["record_id"]
        calls = model.calls
        questions = [
            CopyToAsk(copy.target.key, str(ids[copy.record]), copy.draw, row)
            for copy, row in zip(copies, rows, strict=True)
        ]
        task = AskTask(self.endpoint, self.deployment, calls.egress(), self.store)
        if self.engine.is_apart and rows:
            return model.call_if_healthy(
                lambda: send_to_executors(self.engine, task, questions, calls.report, progress),
                rows,
                lambda: calls.report(progress),
            )
        files = []

        def store_page(first: int, answers: Sequence[Scored]) -> None:
            files.extend(task.store_answers(questions[first : first + len(answers)], answers))

        answers = model.score(rows, progress, store_page)
        self.store.merge(files)
        return answers


CopySource = LoggedCopies | FiledCopies


@frozen
class RescoredCopies:
    """Answers that a check got; `unclassified` is an outcome that is in neither list of the monitor.

    `refused` has an entry for each copy that the model did not take, `rounded` counts answers whose
    probability became 0 or 1.
    """

    lines: CounterfactualLines
    new_targets: dict[TargetKey, int]
    unclassified: str | None = None
    refused: tuple[RefusedRecord, ...] = ()
    rounded: int = 0


def rescore(
    source: CopySource, model: ModelOfCheck, subject: Subject, evidence: CheckEvidence
) -> RescoredCopies:
    """Asks about copies without an outcome, and adds the answers to the evidence.

    Raises:
        ScoringFailed: no usable answer to some page, or no copy taken; nothing is kept.
        InvalidInput: the monitor needs more copies than one check scores.
    """
    window = evidence.window
    schema = subject.deployment.schema
    missing_count = sum(copies.missing_count for copies in (*evidence.copies, evidence.repeats))
    if missing_count > MAX_COPIES:
        raise InvalidInput(
            "max_records",
            f"asks for {missing_count:,} copies in one check, and {MAX_COPIES:,} are the most; reduce it, or "
            "watch fewer values",
        )
    new_targets: dict[TargetKey, int] = {}
    pending = _list_pending_copies(source, evidence, schema.version, new_targets)
    classify = OutcomeClassifier(subject.monitor.outcomes)
    record_nos = window.record_nos()
    unclassified = None
    refused: list[RefusedRecord] = []
    rounded = 0
    for start in range(0, len(pending), COPIES_PER_CHUNK):
        chunk = pending[start : start + COPIES_PER_CHUNK]
        progress = Progress("asking the model about copies", done=start, total=len(pending))
        rows = _build_rows(source, window, chunk, schema.features)
        answers = source.ask(model, window, chunk, rows, progress)
        answers_by_target: dict[TargetCopies, list[tuple[int, Prediction]]] = {}
        for copy, answer in zip(chunk, answers, strict=True):
            if isinstance(answer, Refusal):
                copy.target.copies.refused[copy.record, copy.target.position] = True
                refused.append(RefusedRecord(int(record_nos[copy.record]), answer))
            else:
                answers_by_target.setdefault(copy.target, []).append((copy.record, answer))
                rounded += answer.is_rounded
        for target, answered in answers_by_target.items():
            unclassified = _count_outcomes(target, answered, classify) or unclassified
    for copies in (*evidence.copies, evidence.repeats):
        copies.leave_out_refused()
    return RescoredCopies(
        source.lines,
        new_targets if isinstance(source, LoggedCopies) else {},
        unclassified,
        tuple(refused),
        rounded,
    )


def _list_pending_copies(
    source: CopySource, evidence: CheckEvidence, schema_version: int, new_targets: dict[TargetKey, int]
) -> list[PendingCopy]:
    pending = []
    for copies in (*evidence.copies, evidence.repeats):
        for position, records in copies.list_missing():
            target = copies.targets[position]
            key = make_target_key(
                target, model_revision=evidence.model_revision, schema_version=schema_version
            )
            if key not in evidence.known_targets:
                new_targets[key] = source.reserve_number()
            pending_target = TargetCopies(copies, position, key, (evidence.known_targets | new_targets)[key])
            pending += [
                PendingCopy(pending_target, record, draw)
                for record in records.tolist()
                for draw in range(target.draws)
            ]
    return sorted(pending, key=lambda copy: copy.record)


def _build_rows(
    source: CopySource, window: PayloadWindow, chunk: Sequence[PendingCopy], columns: Sequence[Column]
) -> list[Row]:
    positions = sorted({copy.record for copy in chunk})
    features = source.read_features(window, positions)
    ids = window.rows["record_id"]
    id_by_position = {position: str(ids[position]) for position in positions}
    numbers = {column.name: number for number, column in enumerate(columns)}
    rows = []
    for copy in chunk:
        # A new list, because the same features serve every copy of the record.
        row = list(features[copy.record])
        target = copy.target.copies.targets[copy.target.position]
        for name, value in target.draw_changes(id_by_position[copy.record], copy.draw).items():
            row[numbers[name]] = value
        rows.append(row)
    return rows


def _count_outcomes(
    target: TargetCopies, answered: Sequence[tuple[int, Prediction]], classify: OutcomeClassifier
) -> str | None:
    """Adds the outcomes to the copies; returns one that is in neither outcome list, if there is any."""
    copies = target.copies
    answers = [answer for _, answer in answered]
    records = np.array([record for record, _ in answered], dtype=np.int64)
    outcomes = np.array([classify(answer.outcome_value) for answer in answers], dtype=np.int64)
    copies.add(target.position, records, outcomes)
    if copies.keeps_answers(target.position):
        kept = TargetAnswers(target.position, records, *encode_answers(answers), are_new=True)
        copies.answers.append(kept)
    unclassified = np.flatnonzero(outcomes == Outcome.UNCLASSIFIED)
    return spelled(answers[unclassified[0]].outcome_value) if len(unclassified) else None
