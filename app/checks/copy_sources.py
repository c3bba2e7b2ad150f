"""Where copies come from and their answers go: Postgres, or files next to the payload."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

from ..batch.answers import KeptAnswers
from ..batch.engines import Engine
from ..batch.payload_files import PayloadFiles
from ..domain.checks import Progress, Span
from ..domain.deployments import Deployment, Endpoint
from ..domain.records import Prediction
from ..domain.values import Scalar
from ..errors import InvalidInput
from ..scoring.refusals import Scored
from ..store.database.arrow import arrow_reader
from ..store.database.engine import Database
from ..store.records.counterfactuals import CounterfactualLines, TargetKey, reserve_target_numbers
from ..store.records.window import features_of
from .asking import ModelOfCheck
from .asking_apart import AskTask, CopyToAsk, ask_apart
from .window import PayloadWindow

Row: TypeAlias = "list[Scalar | None]"

RESOLUTION = timedelta(microseconds=1)
"""Smallest step of a record's time."""


@dataclass(frozen=True, slots=True)
class AnsweredCopy:
    """An answered copy: its target, that one's number, the record's position in the window, and its draw."""

    key: TargetKey
    target_no: int
    position: int
    draw: int


class LoggedCopies:
    """Copies of records in Postgres. Answers are stored with the check's result: a failed check leaves none.

    `numbers_targets`: numbers of new targets are stored, too.
    """

    def __init__(self, database: Database, deployment_no: int) -> None:
        self.lines = CounterfactualLines()
        self.numbers_targets = True
        self._database = database
        self._deployment_no = deployment_no

    def features(self, window: PayloadWindow, positions: Sequence[int]) -> dict[int, Row]:
        """Features (in schema order) of the records at these positions, by position; read in a short transaction."""
        record_nos = window.record_nos()[list(positions)].tolist()
        with arrow_reader(self._database) as reader:
            found = features_of(reader, self._deployment_no, window.reach(), record_nos)
        return {position: found[no] for position, no in zip(positions, record_nos, strict=True)}

    def reserve_numbers(self, count: int) -> list[int]:
        """Numbers that no other target gets."""
        with self._database.transaction() as session:
            return reserve_target_numbers(session, count)

    def ask(
        self, model: ModelOfCheck, window: PayloadWindow, copies: Sequence[AnsweredCopy], rows: list[Row], progress: Progress
    ) -> list[Scored]:
        """Answer to each copy, whose features are `rows`; added to the lines.

        Raises:
            ScoringFailed: the model gave no usable answer.
        """
        found, record_nos = model.score(rows, progress), window.record_nos()
        answered = [(copy, one) for copy, one in zip(copies, found, strict=True) if isinstance(one, Prediction)]
        self.lines.add([(copy.target_no, int(record_nos[copy.position]), copy.draw) for copy, _ in answered], [one for _, one in answered])
        return found


class FiledCopies:
    """Copies of records in files. Answers are written as they come: a repeated check asks for none again."""

    def __init__(self, deployment: Deployment, endpoint: Endpoint, files: PayloadFiles, kept: KeptAnswers, engine: Engine) -> None:
        self.lines = CounterfactualLines()
        self.numbers_targets = False
        # An executor gets no more secrets than the endpoint's.
        self._deployment = replace(deployment, endpoint=None)
        self._endpoint = endpoint
        self._files = files
        self._kept = kept
        self._engine = engine

    def features(self, window: PayloadWindow, positions: Sequence[int]) -> dict[int, Row]:
        """Features read from the files."""
        reach, ids = window.reach(), window.rows["record_id"]
        of_position = {position: str(ids[position]) for position in positions}
        span = Span(start=reach.start, end=reach.end + RESOLUTION)
        found = self._files.features(list(of_position.values()), span)
        missing = next((one for one in of_position.values() if one not in found), None)
        if missing is not None:
            raise InvalidInput.of("payload.location", f"record {missing} vanished from the table while the check ran; check again")
        return {position: found[record_id] for position, record_id in of_position.items()}

    def reserve_numbers(self, count: int) -> list[int]:
        """Numbers that hold for this check."""
        return list(range(1, count + 1))

    def ask(
        self, model: ModelOfCheck, window: PayloadWindow, copies: Sequence[AnsweredCopy], rows: list[Row], progress: Progress
    ) -> list[Scored]:
        """Answers, written here or on the executors of the engine as they come."""
        ids, calls = window.rows["record_id"], model.calls
        asked = [CopyToAsk(copy.key, str(ids[copy.position]), copy.draw, row) for copy, row in zip(copies, rows, strict=True)]
        task = AskTask(self._endpoint, self._deployment, calls.egress(), self._kept)
        if self._engine.is_apart and rows:
            return model.score_by(
                lambda: ask_apart(self._engine, task, asked, calls.report, progress), rows, lambda: calls.report(progress)
            )
        pages: list[Path] = []

        def keep(first: int, answers: Sequence[Scored]) -> None:
            pages.extend(task.keep(asked[first : first + len(answers)], answers))

        found = model.score(rows, progress, keep)
        self._kept.merge(pages)
        return found


CopySource: TypeAlias = LoggedCopies | FiledCopies
