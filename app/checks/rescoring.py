"""Sends the model the copies without outcome. Stores nothing: the check does, once all are there.

No transaction is open meanwhile; features are read in chunks.
"""

from collections.abc import Sequence

import numpy as np

from ..domain.checks import Progress
from ..domain.deployments import Deployment
from ..domain.outcomes import Outcome, OutcomeRule
from ..domain.records import Prediction
from ..domain.values import spelled
from ..errors import InvalidInput
from ..frozen import frozen
from ..records.outcomes import OutcomeClassifier
from ..scoring.refusals import Refusal
from ..store.records.counterfactuals import CounterfactualLines, TargetKey
from .asking import ModelOfCheck
from .copy_sources import AnsweredCopy, CopySource, Row
from .not_scored import RefusedRecord
from .outcomes_of_copies import CopyOutcomes, TargetAnswers, encode_answers, target_key
from .window import PayloadWindow

CHUNK = 50_000
"""Max copies built, scored and counted at a time."""

MOST_COPIES = 5_000_000
"""Max copies of one check: about 600 MB of bookkeeping, and a day of calls."""


@frozen
class _Copy:
    """Copy of the record at `record` in the window, into target `target` of attribute `attribute`."""

    attribute: int
    target: int
    record: int
    draw: int


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


class Rescorer:
    def __init__(self, source: CopySource, deployment: Deployment, model: ModelOfCheck, *, rule: OutcomeRule) -> None:
        self._source = source
        self._deployment = deployment
        self._model = model
        self._classify = OutcomeClassifier(rule)
        self._unclassified: str | None = None
        self._positions = {column.name: position for position, column in enumerate(deployment.schema.features)}

    def rescore(self, window: PayloadWindow, attributes: Sequence[CopyOutcomes], known_targets: dict[TargetKey, int]) -> Answers:
        """Scores every missing copy, and adds the answers to `attributes`.

        Raises:
            ScoringFailed: no usable answer to some page, or no copy taken; nothing is kept.
            InvalidInput: the monitor needs more copies than one check scores.
        """
        missing = sum(len(records) * attribute.targets[no].draws for attribute in attributes for no, records in attribute.missing())
        if missing > MOST_COPIES:
            raise InvalidInput.of(
                "max_records",
                f"asks for {missing:,} copies in one check, and {MOST_COPIES:,} are the most; reduce it, or watch fewer values",
            )
        copies = [
            _Copy(no, target, record, draw)
            for no, attribute in enumerate(attributes)
            for target, records in attribute.missing()
            for record in records.tolist()
            for draw in range(attribute.targets[target].draws)
        ]
        copies.sort(key=lambda copy: copy.record)
        keys, numbers, new_targets = self._number_targets(attributes, copies, known_targets)
        refused: list[RefusedRecord] = []
        rounded = 0
        for start in range(0, len(copies), CHUNK):
            chunk = copies[start : start + CHUNK]
            progress = Progress(step="asking the model about copies", done=start, total=len(copies))
            record_nos = window.record_nos()
            places = [(copy, keys[copy.attribute, copy.target]) for copy in chunk]
            asked = [AnsweredCopy(key, numbers[key], copy.record, copy.draw) for copy, key in places]
            found = self._source.ask(self._model, window, asked, self._build_rows(window, attributes, chunk), progress)
            answered = [(copy, one) for copy, one in zip(chunk, found, strict=True) if isinstance(one, Prediction)]
            taken, answers = [copy for copy, _ in answered], [answer for _, answer in answered]
            self._count(attributes, taken, answers)
            rounded += sum(one.is_rounded for one in answers)
            for copy, one in zip(chunk, found, strict=True):
                if isinstance(one, Refusal):
                    attributes[copy.attribute].refuse(copy.target, np.array([copy.record]))
                    refused.append(RefusedRecord(int(record_nos[copy.record]), one))
        for attribute in attributes:
            attribute.leave_out_refused()
        stored = new_targets if self._source.numbers_targets else {}
        return Answers(self._source.lines, stored, self._unclassified, tuple(refused), rounded)

    def _build_rows(self, window: PayloadWindow, attributes: Sequence[CopyOutcomes], chunk: Sequence[_Copy]) -> list[Row]:
        record_ids = window.rows["record_id"]
        wanted = sorted({copy.record for copy in chunk})
        features = self._source.features(window, wanted)
        ids = {record: str(record_ids[record]) for record in wanted}
        rows = []
        for copy in chunk:
            target = attributes[copy.attribute].targets[copy.target]
            # A copy, because the same features serve every copy of the record.
            row: Row = list(features[copy.record])
            for name, value in target.changes(ids[copy.record], copy.draw).items():
                row[self._positions[name]] = value
            rows.append(row)
        return rows

    def _count(self, attributes: Sequence[CopyOutcomes], chunk: Sequence[_Copy], answers: Sequence[Prediction]) -> None:
        if not chunk:
            return
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
                attributes[attribute].answers.append(TargetAnswers(target, places[mine, 2], *encode_answers(kept), are_new=True))

    def _number_targets(
        self, attributes: Sequence[CopyOutcomes], copies: Sequence[_Copy], known: dict[TargetKey, int]
    ) -> tuple[dict[tuple[int, int], TargetKey], dict[TargetKey, int], dict[TargetKey, int]]:
        places = {(copy.attribute, copy.target) for copy in copies}
        revision, version = self._deployment.model_revision, self._deployment.schema.version
        used = {
            (attribute, target): target_key(attributes[attribute].targets[target], model_revision=revision, schema_version=version)
            for attribute, target in places
        }
        new = sorted({key for key in used.values() if key not in known}, key=lambda key: (key.feature, key.target))
        new_targets = dict(zip(new, self._source.reserve_numbers(len(new)), strict=True))
        return used, known | new_targets, new_targets
