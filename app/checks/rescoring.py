"""Asks the model about the copies whose outcomes are not known yet. Stores nothing: the check does, once all are there.

No transaction is open while the model is asked; features are read in short ones, a chunk of records at a time.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from app.checks.classifying import OutcomeClassifier
from app.checks.outcomes_of_copies import CopyOutcomes, TargetAnswers, as_texts, target_key
from app.checks.perturbation import CopyTarget
from app.checks.window import PayloadWindow
from app.domain.checks import Progress
from app.domain.deployments import Deployment
from app.domain.outcomes import Outcome, OutcomeRule
from app.domain.records import Prediction
from app.domain.values import Scalar, spelled
from app.errors import InvalidInput
from app.scoring.client import ScoringClient
from app.store.arrow import arrow_reader
from app.store.counterfactuals import CounterfactualLines, TargetKey, reserve_target_numbers
from app.store.engine import Database
from app.store.window import features_of

CHUNK = 50_000
"""Copies that are built, scored and counted at a time: enough to keep the model busy, little enough to hold."""

MOST_COPIES = 5_000_000
"""What one check scores at most: about 600 MB of bookkeeping, and a day of asking an ordinary model."""

Row: TypeAlias = "list[Scalar | None]"
Report: TypeAlias = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class _Copy:
    """One copy to be scored: of the record at `record` in the window, into target `target` of attribute `attribute`."""

    attribute: int
    target: int
    record: int
    draw: int


@dataclass(frozen=True, slots=True)
class Answers:
    """What the model said of the new copies, ready to be stored with the check's result."""

    lines: CounterfactualLines
    new_targets: dict[TargetKey, int]
    unclassified: str | None = None
    """One answer that is in neither outcome list, if there was one."""


class Rescorer:
    """Scores the missing copies of a window's attributes and counts the answers into them."""

    def __init__(self, database: Database, deployment: Deployment, client: ScoringClient, *, rule: OutcomeRule, report: Report) -> None:
        self._database = database
        self._deployment = deployment
        self._client = client
        self._classify = OutcomeClassifier(rule)
        self._report = report
        self._unclassified: str | None = None
        self._positions = {column.name: position for position, column in enumerate(deployment.schema.features)}

    def rescore(self, window: PayloadWindow, attributes: Sequence[CopyOutcomes], known_targets: dict[TargetKey, int]) -> Answers:
        """Asks the model about every missing copy, and adds the answers to `attributes`.

        Raises:
            ScoringFailed: the model gave no usable answer to some page; nothing is kept.
            InvalidInput: the monitor asks for more copies than one check scores.
        """
        _require_feasible(attributes)
        copies = [copy for no, attribute in enumerate(attributes) for copy in _missing(no, attribute)]
        # By record, so that a record's features are read once for all its copies.
        copies.sort(key=lambda copy: copy.record)
        numbers, new_targets = self._number_targets(attributes, copies, known_targets)
        lines = CounterfactualLines()
        for start in range(0, len(copies), CHUNK):
            chunk = copies[start : start + CHUNK]
            answers = self._score(window, attributes, chunk, Progress(step="asking the model about copies", done=start, total=len(copies)))
            record_nos = window.record_nos()
            lines.add([(numbers[copy.attribute, copy.target], int(record_nos[copy.record]), copy.draw) for copy in chunk], answers)
            self._count(attributes, chunk, answers)
        return Answers(lines, new_targets, self._unclassified)

    def _score(
        self, window: PayloadWindow, attributes: Sequence[CopyOutcomes], chunk: Sequence[_Copy], progress: Progress
    ) -> list[Prediction]:
        def on_page(done: int, _total: int) -> None:
            self._report(Progress(step=progress.step, done=progress.done + done, total=progress.total))

        rows = list(self._rows(window, attributes, chunk))
        # Asked about once a second, also while a slow model keeps a page waiting: it raises when the check must stop.
        return self._client.score(rows, on_page=on_page, should_stop=lambda: self._report(progress))

    def _rows(self, window: PayloadWindow, attributes: Sequence[CopyOutcomes], chunk: Sequence[_Copy]) -> Iterator[Row]:
        record_nos, record_ids = window.record_nos(), window.rows["record_id"]
        wanted = sorted({copy.record for copy in chunk})
        with arrow_reader(self._database.url) as reader:
            features = features_of(reader, self._deployment.no, window.reach(), record_nos[wanted].tolist())
        ids = {record: str(record_ids[record]) for record in wanted}
        for copy in chunk:
            target = attributes[copy.attribute].targets[copy.target]
            row: Row = list(features[int(record_nos[copy.record])])
            for name, value in target.changes(ids[copy.record], copy.draw).items():
                row[self._positions[name]] = value
            yield row

    def _count(self, attributes: Sequence[CopyOutcomes], chunk: Sequence[_Copy], answers: Sequence[Prediction]) -> None:
        outcomes = np.array([self._classify(answer.outcome_value) for answer in answers], dtype=np.int64)
        odd = np.flatnonzero(outcomes == Outcome.UNCLASSIFIED)
        if len(odd):
            self._unclassified = spelled(answers[odd[0]].outcome_value)
        places = np.array([(copy.attribute, copy.target, copy.record) for copy in chunk], dtype=np.int64)
        for attribute, target in np.unique(places[:, :2], axis=0).tolist():
            mine = (places[:, 0] == attribute) & (places[:, 1] == target)
            attributes[attribute].add(target, places[mine, 2], outcomes[mine])
            if attributes[attribute].keeps(target):
                kept = [answers[place] for place in np.flatnonzero(mine).tolist()]
                attributes[attribute].answers.append(TargetAnswers(target, places[mine, 2], *as_texts(kept), are_new=True))

    def _number_targets(
        self, attributes: Sequence[CopyOutcomes], copies: Sequence[_Copy], known: dict[TargetKey, int]
    ) -> tuple[dict[tuple[int, int], int], dict[TargetKey, int]]:
        """The number of each target among the copies, and those of them that are new."""
        places = {(copy.attribute, copy.target) for copy in copies}
        used = {(attribute, target): self._key(attributes[attribute].targets[target]) for attribute, target in places}
        new = sorted({key for key in used.values() if key not in known}, key=lambda key: (key.feature, key.target))
        with self._database.transaction() as session:
            new_targets = dict(zip(new, reserve_target_numbers(session, len(new)), strict=True))
        numbers = known | new_targets
        return {place: numbers[key] for place, key in used.items()}, new_targets

    def _key(self, target: CopyTarget) -> TargetKey:
        return target_key(target, model_revision=self._deployment.model_revision, schema_version=self._deployment.schema.version)


def _require_feasible(attributes: Sequence[CopyOutcomes]) -> None:
    missing = sum(len(records) * attribute.targets[no].draws for attribute in attributes for no, records in attribute.missing())
    if missing > MOST_COPIES:
        raise InvalidInput.of(
            "max_records", f"asks for {missing:,} copies in one check, and {MOST_COPIES:,} are the most; reduce it, or watch fewer values"
        )


def _missing(number: int, attribute: CopyOutcomes) -> Iterator[_Copy]:
    for target, records in attribute.missing():
        for record in records.tolist():
            for draw in range(attribute.targets[target].draws):
                yield _Copy(number, target, record, draw)
