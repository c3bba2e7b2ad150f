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

MAX_WAVES = 20
"""Batches that each executor gets after one another: between them the progress is reported."""

PAGES_PER_BATCH = 4
"""Pages of the endpoint that a batch has at least."""


@frozen
class CopyToAsk:
    key: TargetKey
    record_id: str
    draw: int
    row: list[Scalar | None]


@frozen
class AskTask:
    """Task of an executor: asks the model about the copies of a piece that have no kept answer. It holds the
    endpoint's secrets.

    Each page of answers is kept in its file before the next one is sent: if an executor dies, only the page
    under way is asked again. An MLflow model is loaded once in an executor's process, for all pieces with the
    same `turn`.
    """

    endpoint: Endpoint
    deployment: Deployment
    policy: EgressPolicy
    kept: KeptAnswers
    turn: str = field(default_factory=lambda: secrets.token_hex(8))

    def __call__(self, piece: bytes) -> bytes:
        """Takes the number of a batch and its copies, pickled; returns the number and the answers in their
        order.
        """
        number, copies = pickle.loads(piece)  # noqa: S301 - written by `send_to_executors`
        answers = self._find_stored_answers(copies)
        features = self.deployment.schema.features
        names = [column.name for column in features]
        types = [column.type for column in features]
        loaded = (
            InProcessModel(self.endpoint.uri, self.policy.model_prefixes, self.turn)
            if self.endpoint.is_loaded
            else None
        )
        client = ScoringClient(
            self.endpoint, self.deployment.outputs, names, types=types, policy=self.policy, loaded=loaded
        )
        missing = [position for position in range(len(copies)) if position not in answers]
        page = self.endpoint.page_size * self.endpoint.concurrency
        for start in range(0, len(missing), page):
            positions = missing[start : start + page]
            scored = client.score([copies[position].row for position in positions])
            self.keep([copies[position] for position in positions], scored)
            answers |= zip(positions, scored, strict=True)
        return pickle.dumps((number, [answers[position] for position in range(len(copies))]))

    def _find_stored_answers(self, copies: Sequence[CopyToAsk]) -> dict[int, Scored]:
        # Looked for again: an executor may have died.
        answers: dict[int, Scored] = {}
        for key in {copy.key for copy in copies}:
            positions = {
                (copy.record_id, copy.draw): position
                for position, copy in enumerate(copies)
                if copy.key == key
            }
            for row in self.kept.read_draws(
                key, pa.array([record for record, _ in positions], pa.string())
            ).to_pylist():
                position = positions.get((row["record_id"], row["draw"]))
                if position is not None:
                    chance = None if row["probability"] is None else json.loads(row["probability"])
                    probability = tuple(chance) if isinstance(chance, list) else chance
                    answers[position] = Prediction(parse_value(row["outcome"]), probability)
        return answers

    def keep(self, copies: Sequence[CopyToAsk], scored: Sequence[Scored]) -> list[Path]:
        files = []
        for key in {copy.key for copy in copies}:
            answered = [
                (copy, answer)
                for copy, answer in zip(copies, scored, strict=True)
                if copy.key == key and isinstance(answer, Prediction)
            ]
            if answered:
                ids = [copy.record_id for copy, _ in answered]
                draws = [copy.draw for copy, _ in answered]
                files.append(self.kept.keep(key, ids, draws, [answer for _, answer in answered]))
        return files


def send_to_executors(
    engine: Engine, task: AskTask, copies: Sequence[CopyToAsk], report: Report, progress: Progress
) -> list[Scored]:
    """Divides the copies among executors, which together keep to the endpoint's limits.

    Raises:
        ScoringFailed: the model gave no usable answer to some page.
    """
    endpoint = task.endpoint
    share = max(1, min(engine.slots, endpoint.concurrency, len(copies)))
    rate = None if endpoint.requests_per_second is None else endpoint.requests_per_second / share
    shared = replace(
        task, endpoint=replace(endpoint, concurrency=endpoint.concurrency // share, requests_per_second=rate)
    )
    waves = max(
        1, min(MAX_WAVES, len(copies) // (PAGES_PER_BATCH * endpoint.page_size * endpoint.concurrency))
    )
    size = -(-len(copies) // (share * waves))
    batches = [copies[start : start + size] for start in range(0, len(copies), size)]
    answers: dict[int, list[Scored]] = {}
    # Never more batches at a time than have a share of the limits.
    for first in range(0, len(batches), share):

        def report_done(ended: int, first: int = first) -> None:
            report(replace(progress, done=progress.done + sum(map(len, batches[: first + ended]))))

        pieces = [pickle.dumps(batch) for batch in enumerate(batches[first : first + share], first)]
        for answer in engine.run(shared, pieces, report_done):
            number, scored = pickle.loads(answer)  # noqa: S301 - written by the task
            answers[number] = scored
    return [answer for number in range(len(batches)) for answer in answers[number]]


Row = list[Scalar | None]

TIME_RESOLUTION = timedelta(microseconds=1)


@frozen_arrays
class TargetCopies:
    """Target of copies among those of its attribute; `number` is its row in the database, 0 in files."""

    copies: CopyOutcomes
    target: int
    key: TargetKey
    number: int


@frozen
class AnsweredCopy:
    kind: TargetCopies
    position: int
    draw: int


@frozen
class LoggedCopies:
    """RescoredCopies are stored with the check's result: a failed check leaves none."""

    database: Database
    deployment_no: int
    lines: CounterfactualLines = field(default_factory=CounterfactualLines)

    def features(self, window: PayloadWindow, positions: Sequence[int]) -> dict[int, Row]:
        """Features (in schema order) of the records at these positions, by position; read in a short
        transaction.
        """
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
        copies: Sequence[AnsweredCopy],
        rows: list[Row],
        progress: Progress,
    ) -> list[Scored]:
        """Asks about `rows`, the features of the copies, and adds the answers to the lines.

        Raises:
            ScoringFailed: the model gave no usable answer.
        """
        answers = model.score(rows, progress)
        record_nos = window.record_nos()
        answered = [
            (copy, answer)
            for copy, answer in zip(copies, answers, strict=True)
            if isinstance(answer, Prediction)
        ]
        answer_keys = [(copy.kind.number, int(record_nos[copy.position]), copy.draw) for copy, _ in answered]
        self.lines.add(answer_keys, [answer for _, answer in answered])
        return answers


@frozen
class FiledCopies:
    """RescoredCopies are written as they come: a repeated check asks for none again.

    The deployment has no endpoint: an executor gets no more secrets than those of `endpoint`.
    """

    deployment: Deployment
    endpoint: Endpoint
    files: PayloadFiles
    kept: KeptAnswers
    engine: Engine
    lines: CounterfactualLines = field(default_factory=CounterfactualLines)

    def features(self, window: PayloadWindow, positions: Sequence[int]) -> dict[int, Row]:
        reach = window.reach()
        ids = window.rows["record_id"]
        id_of = {position: str(ids[position]) for position in positions}
        # A span does not hold its end, the time of the newest record.
        span = Span(start=reach.start, end=reach.end + TIME_RESOLUTION)
        features = self.files.features(list(id_of.values()), span)
        missing = next((record_id for record_id in id_of.values() if record_id not in features), None)
        if missing is not None:
            raise InvalidInput(
                "payload.location",
                f"record {missing} vanished from the table while the check ran; check again",
            )
        return {position: features[record_id] for position, record_id in id_of.items()}

    def reserve_number(self) -> int:
        return 0

    def ask(
        self,
        model: ModelOfCheck,
        window: PayloadWindow,
        copies: Sequence[AnsweredCopy],
        rows: list[Row],
        progress: Progress,
    ) -> list[Scored]:
        ids = window.rows["record_id"]
        calls = model.calls
        questions = [
            CopyToAsk(copy.kind.key, str(ids[copy.position]), copy.draw, row)
            for copy, row in zip(copies, rows, strict=True)
        ]
        task = AskTask(self.endpoint, self.deployment, calls.egress(), self.kept)
        if self.engine.is_apart and rows:
            return model.score_by(
                lambda: send_to_executors(self.engine, task, questions, calls.report, progress),
                rows,
                lambda: calls.report(progress),
            )
        pages: list[Path] = []

        def keep(first: int, answers: Sequence[Scored]) -> None:
            pages.extend(task.keep(questions[first : first + len(answers)], answers))

        predictions = model.score(rows, progress, keep)
        self.kept.merge(pages)
        return predictions


CopySource = LoggedCopies | FiledCopies


COPIES_PER_CHUNK = 50_000

MAX_COPIES = 5_000_000
"""Copies of one check: they take about 600 MB of bookkeeping, and a day of calls."""


@frozen
class RescoredCopies:
    """Answers that a check got; `unclassified` is an outcome that is in neither list of the monitor."""

    lines: CounterfactualLines
    new_targets: dict[TargetKey, int]
    unclassified: str | None = None
    refused: tuple[RefusedRecord, ...] = ()
    """Once for each record."""
    rounded: int = 0
    """RescoredCopies whose probability became 0 or 1."""


def rescore(
    source: CopySource, model: ModelOfCheck, subject: Subject, evidence: CheckEvidence
) -> RescoredCopies:
    """Asks about all copies without an outcome, and adds the answers to the evidence.

    Raises:
        ScoringFailed: no usable answer to some page, or no copy taken; nothing is kept.
        InvalidInput: the monitor needs more copies than one check scores.
    """
    attributes = (*evidence.copies, evidence.repeats)
    window = evidence.window
    schema = subject.deployment.schema
    missing = sum(attribute.to_score for attribute in attributes)
    if missing > MAX_COPIES:
        raise InvalidInput(
            "max_records",
            f"asks for {missing:,} copies in one check, and {MAX_COPIES:,} are the most; reduce it, or "
            "watch fewer values",
        )
    copies: list[AnsweredCopy] = []
    new_targets: dict[TargetKey, int] = {}
    for attribute in attributes:
        for target, records in attribute.missing():
            key = make_target_key(
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

    classify = OutcomeClassifier(subject.monitor.outcomes)
    record_nos = window.record_nos()
    unclassified: str | None = None
    refused: list[RefusedRecord] = []
    rounded = 0
    for start in range(0, len(copies), COPIES_PER_CHUNK):
        chunk = copies[start : start + COPIES_PER_CHUNK]
        progress = Progress(step="asking the model about copies", done=start, total=len(copies))
        answers = source.ask(
            model, window, chunk, _build_rows(source, window, chunk, schema.features), progress
        )
        answers_by_kind: dict[TargetCopies, list[tuple[int, Prediction]]] = {}
        for copy, answer in zip(chunk, answers, strict=True):
            if isinstance(answer, Refusal):
                copy.kind.copies.refused[copy.position, copy.kind.target] = True
                refused.append(RefusedRecord(int(record_nos[copy.position]), answer))
            else:
                answers_by_kind.setdefault(copy.kind, []).append((copy.position, answer))
                rounded += answer.is_rounded
        for kind, answered in answers_by_kind.items():
            unclassified = _count_outcomes(kind, answered, classify) or unclassified
    for attribute in attributes:
        attribute.leave_out_refused()
    return RescoredCopies(
        source.lines,
        new_targets if isinstance(source, LoggedCopies) else {},
        unclassified,
        tuple(refused),
        rounded,
    )


def _build_rows(
    source: CopySource, window: PayloadWindow, chunk: Sequence[AnsweredCopy], columns: Sequence[Column]
) -> list[Row]:
    records = sorted({copy.position for copy in chunk})
    record_ids = window.rows["record_id"]
    features = source.features(window, records)
    ids = {record: str(record_ids[record]) for record in records}
    numbers = {column.name: number for number, column in enumerate(columns)}
    rows = []
    for copy in chunk:
        # A copy, because the same features serve every copy of the record.
        row: Row = list(features[copy.position])
        for name, value in (
            copy.kind.copies.targets[copy.kind.target].draw_changes(ids[copy.position], copy.draw).items()
        ):
            row[numbers[name]] = value
        rows.append(row)
    return rows


def _count_outcomes(
    kind: TargetCopies, answered: Sequence[tuple[int, Prediction]], classify: OutcomeClassifier
) -> str | None:
    """Adds the outcomes to the copies; returns one that is in neither outcome list."""
    answers = [answer for _, answer in answered]
    records = np.array([record for record, _ in answered], dtype=np.int64)
    outcomes = np.array([classify(answer.outcome_value) for answer in answers], dtype=np.int64)
    kind.copies.add(kind.target, records, outcomes)
    if kind.copies.keeps(kind.target):
        kind.copies.answers.append(
            TargetAnswers(kind.target, records, *encode_answers(answers), are_new=True)
        )
    odd = np.flatnonzero(outcomes == Outcome.UNCLASSIFIED)
    return spelled(answers[odd[0]].outcome_value) if len(odd) else None
