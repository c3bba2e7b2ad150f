"""The model's stored answers to perturbed copies."""

from collections.abc import Sequence

import msgspec
import pyarrow as pa
from sqlalchemy import insert, text
from sqlalchemy.orm import Session

from ...base.values import frozen, normalised
from ...database.binary_rows import driver_connection, list_column_values, write_array_text
from ...database.engine import ArrowReader
from ...database.tables import CopyTargetRow
from ...domain.record import Prediction


@frozen
class TargetKey:
    """Everything that the model's answers to copies depend on, but the records: `target` is the value, or
    JSON of a range or of donors.
    """

    model_revision: str
    schema_version: int
    feature: str
    target: str
    draws: int
    seed: int


def read_stored_targets(reader: ArrowReader, deployment_no: int) -> dict[TargetKey, int]:
    table = reader.table(
        "SELECT no, model_revision, schema_version::int AS schema_version, feature, target, draws::int AS "
        "draws, seed FROM copy_targets WHERE deployment_no = $1",
        [deployment_no],
    )
    return {msgspec.convert(row, TargetKey): row["no"] for row in table.to_pylist()}


def read_stored_outcomes(
    reader: ArrowReader,
    target_no: int,
    bounds: tuple[int, int],
    *,
    with_probabilities: bool,
    only: Sequence[int] | None = None,
) -> pa.Table:
    """Reads answers for records within the bounds, both included, or `only` those; one row a draw.

    Columns: record_no, outcome (JSON text of the label or prediction), probability (JSON text or NULL) if
    wanted.
    """
    listed = "" if only is None else " AND record_no = ANY($4::text::bigint[])"
    # The reader takes no list as a parameter.
    numbers = [] if only is None else [write_array_text(only)]
    probability = ", probability#>>'{}' AS probability" if with_probabilities else ""
    return reader.table(
        "SELECT record_no, coalesce(label, prediction)::text AS outcome"  # noqa: S608 - a constant
        f"{probability} FROM counterfactuals"
        f" WHERE target_no = $1 AND record_no >= $2 AND record_no <= $3{listed}",
        [target_no, *bounds, *numbers],
    )


def reserve_target_number(session: Session) -> int:
    return int(session.execute(text("SELECT nextval('copy_targets_no_seq')")).scalar_one())


def store_targets(session: Session, deployment_no: int, targets: dict[TargetKey, int]) -> None:
    rows = [
        {"no": no, "deployment_no": deployment_no, **list_column_values(key)} for key, no in targets.items()
    ]
    if rows:
        session.execute(insert(CopyTargetRow), rows)


class CounterfactualLines:
    """Answers to copies as lines of COPY, until they are stored."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self.count = 0

    def add(self, copies: Sequence[tuple[int, int, int]], answers: Sequence[Prediction]) -> None:
        lines = []
        for (target, record, draw), answer in zip(copies, answers, strict=True):
            label = _json(None if answer.label is None else normalised(answer.label))
            lines.append(
                f"{target}\t{record}\t{draw}\t{_json(normalised(answer.prediction))}\t{_json(answer.probability)}\t{label}\n"
            )
        self._chunks.append("".join(lines).encode())
        self.count += len(copies)

    def store(self, session: Session) -> None:
        if not self.count:
            return
        with (
            driver_connection(session).cursor() as cursor,
            cursor.copy(
                "COPY counterfactuals (target_no, record_no, draw, prediction, probability, label) FROM STDIN"
            ) as copy,
        ):
            for chunk in self._chunks:
                copy.write(chunk)


def _json(value: object) -> str:
    # COPY reads a backslash as an escape.
    return "\\N" if value is None else msgspec.json.encode(value).decode().replace("\\", "\\\\")
