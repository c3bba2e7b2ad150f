"""Tables of files that hold a deployment's records, where these are not logged to Evenhand."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import StrEnum

from ..base.frozen import frozen


class TableFormat(StrEnum):
    """The format of a table: a folder of Parquet files, or one with a log of Delta Lake or Iceberg that says which files count.

    `JDBC`, a table of a database, is in stored deployments only: it is shown, and not read.
    """

    PARQUET = "parquet"
    DELTA = "delta"
    ICEBERG = "iceberg"
    JDBC = "jdbc"


FILE_FORMATS = (TableFormat.PARQUET, TableFormat.DELTA, TableFormat.ICEBERG)

NOT_READ = (
    "is a table of a database, which Evenhand does not read: export it to Parquet, Delta or Iceberg files and change the deployment to"
    " their folder, or log the records by REST to another deployment"
)
"""Why a stored table of a database has no checks, and what to do; follows the table's name."""


@frozen(kw_only=True)
class PayloadColumns:
    """Columns of a payload table. `features` and `meta` map names of the schema to columns; those not named have their own name.

    Windows are cut by `scored_at`. Without `model_revision`, all records are of the deployment's revision.
    """

    id: str = "id"
    scored_at: str = "scored_at"
    features: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, str] = field(default_factory=dict)
    prediction: str = "prediction"
    probability: str | None = None
    label: str | None = None
    model_revision: str | None = None

    def of_values(self, names: Iterable[str]) -> dict[str, str]:
        return {name: self.features.get(name, self.meta.get(name, name)) for name in names}


@frozen(kw_only=True)
class FeedbackColumns:
    """Columns of a feedback table: the id of the payload record, the time from which the label is known, and the ground-truth label."""

    id: str = "id"
    observed_at: str = "observed_at"
    label: str = "label"


@frozen(kw_only=True)
class _Table:
    location: str
    format: TableFormat = TableFormat.PARQUET
    partition_by: str | None = None
    source: str = "table"


@frozen(kw_only=True)
class PayloadTable(_Table):
    """A folder of files with scoring records. `partition_by` is a column in paths, as in `day=2026-07-01`."""

    columns: PayloadColumns = PayloadColumns()

    @property
    def time(self) -> str:
        return self.columns.scored_at


@frozen(kw_only=True)
class FeedbackTable(_Table):
    columns: FeedbackColumns = FeedbackColumns()

    @property
    def time(self) -> str:
        return self.columns.observed_at


@frozen
class RecordTables:
    """The tables of a deployment; None where records are logged."""

    payload: PayloadTable | None = None
    feedback: FeedbackTable | None = None
