"""Where copies of records come from and where the model's answers to them go: Postgres, or files next to the payload."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol, TypeAlias

from ..batch.answers import KeptAnswers
from ..batch.payload_files import PayloadFiles
from ..domain.checks import Span
from ..domain.records import Prediction
from ..domain.values import Scalar
from ..errors import InvalidInput
from ..store.database.arrow import arrow_reader
from ..store.database.engine import Database
from ..store.records.counterfactuals import CounterfactualLines, TargetKey, reserve_target_numbers
from ..store.records.window import features_of
from .window import PayloadWindow

Row: TypeAlias = "list[Scalar | None]"

RESOLUTION = timedelta(microseconds=1)
"""Smallest step of a record's time."""


@dataclass(frozen=True, slots=True)
class AnsweredCopy:
    """A copy that the model answered: its target, with the target's number, the position of its record in the window, and its draw."""

    key: TargetKey
    target_no: int
    position: int
    draw: int


class CopySource(Protocol):
    """Features of records to be copied, and a place for answers. `lines` are those that the check stores with its result.

    `numbers_targets` says whether the numbers of new targets are stored, too.
    """

    lines: CounterfactualLines
    numbers_targets: bool

    def features(self, window: PayloadWindow, positions: Sequence[int]) -> dict[int, Row]:
        """Returns the features (in schema order) of the window's records at these positions, by position."""

    def reserve_numbers(self, count: int) -> list[int]:
        """Returns numbers for that many new targets."""

    def keep(self, window: PayloadWindow, copies: Sequence[AnsweredCopy], answers: Sequence[Prediction]) -> None:
        """Takes the answers to copies, in the same order."""


class LoggedCopies:
    """Copies of records in Postgres. Answers are stored with the check's result, so that a failed check leaves none."""

    def __init__(self, database: Database, deployment_no: int) -> None:
        self.lines = CounterfactualLines()
        self.numbers_targets = True
        self._database = database
        self._deployment_no = deployment_no

    def features(self, window: PayloadWindow, positions: Sequence[int]) -> dict[int, Row]:
        """Returns the features of the records, read in a short transaction."""
        record_nos = window.record_nos()[list(positions)].tolist()
        with arrow_reader(self._database) as reader:
            found = features_of(reader, self._deployment_no, window.reach(), record_nos)
        return {position: found[no] for position, no in zip(positions, record_nos, strict=True)}

    def reserve_numbers(self, count: int) -> list[int]:
        """Returns numbers that no other target gets."""
        with self._database.transaction() as session:
            return reserve_target_numbers(session, count)

    def keep(self, window: PayloadWindow, copies: Sequence[AnsweredCopy], answers: Sequence[Prediction]) -> None:
        """Adds the answers to the lines."""
        record_nos = window.record_nos()
        self.lines.add([(copy.target_no, int(record_nos[copy.position]), copy.draw) for copy in copies], answers)


class FiledCopies:
    """Copies of records in files. Answers are written as they come: a check that ends early or is repeated asks for none again."""

    def __init__(self, files: PayloadFiles, kept: KeptAnswers) -> None:
        self.lines = CounterfactualLines()
        self.numbers_targets = False
        self._files = files
        self._kept = kept

    def features(self, window: PayloadWindow, positions: Sequence[int]) -> dict[int, Row]:
        """Returns the features of the records, read from their files."""
        reach, ids = window.reach(), window.rows["record_id"]
        of_position = {position: str(ids[position]) for position in positions}
        # A span does not hold its end, the time of the newest record.
        span = Span(start=reach.start, end=reach.end + RESOLUTION)
        found = self._files.features(list(of_position.values()), span)
        missing = next((one for one in of_position.values() if one not in found), None)
        if missing is not None:
            raise InvalidInput.of("payload.location", f"record {missing} vanished from the files while the check ran; check again")
        return {position: found[record_id] for position, record_id in of_position.items()}

    def reserve_numbers(self, count: int) -> list[int]:
        """Returns numbers that hold for this check: nothing is stored under them."""
        return list(range(1, count + 1))

    def keep(self, window: PayloadWindow, copies: Sequence[AnsweredCopy], answers: Sequence[Prediction]) -> None:
        """Writes the answers, those to copies into one target together."""
        ids = window.rows["record_id"]
        of_key: dict[TargetKey, list[int]] = {}
        for place, copy in enumerate(copies):
            of_key.setdefault(copy.key, []).append(place)
        for key, places in of_key.items():
            records = [str(ids[copies[place].position]) for place in places]
            self._kept.keep(key, records, [copies[place].draw for place in places], [answers[place] for place in places])
