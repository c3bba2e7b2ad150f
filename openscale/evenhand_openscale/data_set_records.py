"""Records of a data set as the SDK lists them: columns and values under their names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ..domain.deployments import Deployment, RecordSchema
from ..errors import InvalidInput
from ..store.openscale.distributions import FieldFigure, count_groups
from ..store.openscale.record_searches import FEEDBACK as STORED_FEEDBACK
from ..store.openscale.record_searches import PAYLOAD as STORED_PAYLOAD
from ..store.openscale.record_searches import RecordField, RecordSearch, SearchedTable
from ..store.openscale.records import StoredFeedback, count_records, feedback_of_id, list_feedback, list_payload
from ..store.openscale.subscriptions import subscriptions_of
from ..store.records.record_conditions import RecordFilter
from ..store.records.transactions import StoredRecord, find_records, nth_newest, record_of, schemas_of
from .bodies import Answer, moment
from .callers import Caller, joined_id
from .data_sets import FEEDBACK, PAYLOAD, label_column_of, require_kept
from .record_filters import SearchedDataSet, fields_of, read_search

MAX_SEARCHED = 1_000_000
"""Max records of a window that a filter or an order looks through."""

_EARLIEST, _LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ListedRecord:
    """A record's id and its values by name."""

    id: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSetRecords:
    """The records of one data set. `label` is the name of the label's column in feedback."""

    caller: Caller
    deployment: Deployment
    data_set: SearchedDataSet
    schemas: Mapping[int, RecordSchema]
    label: str

    @classmethod
    def of(cls, caller: Caller, deployment: Deployment, kind: str) -> "DataSetRecords":
        """Returns the records of a deployment's data set.

        Raises:
            NotFound: the data set was deleted.
        """
        schemas = schemas_of(caller.session, deployment.no)
        stored = subscriptions_of(caller.session, [deployment.no]).get(deployment.no)
        require_kept(stored, kind, joined_id(kind, deployment.id))
        label = label_column_of(stored)
        fields = {each: fields_of(each, deployment, schemas, label) for each in (PAYLOAD, FEEDBACK)}
        other = FEEDBACK if kind == PAYLOAD else PAYLOAD
        data_set = SearchedDataSet(kind, deployment.id, fields[kind], fields[other])
        return cls(caller=caller, deployment=deployment, data_set=data_set, schemas=schemas, label=label)

    def read_search(
        self, since: datetime | None, until: datetime | None, sent_filter: str | None, sent_order: str | None, seed: float | None
    ) -> RecordSearch:
        """Returns the search that an address asks for.

        Raises:
            InvalidInput: the filter or the order is not one, or would look through too many records.
        """
        wanted = read_search(self.data_set, since, until, sent_filter, sent_order, seed)
        if not wanted.is_plain:
            self._require_few(wanted, "filter" if wanted.tests else "order")
        return wanted

    def count(self, wanted: RecordSearch) -> int:
        """Returns how many records the search finds."""
        return count_records(self.caller.session, self._table, self.deployment.no, wanted)

    def count_groups(
        self, wanted: RecordSearch, fields: Sequence[RecordField], figures: Sequence[FieldFigure], *, limit: int
    ) -> Sequence[Sequence[Any]]:
        """Returns the groups of equal values among the records that the search finds, as `count_groups` of the store.

        Raises:
            InvalidInput: the window has too many records.
        """
        self._require_few(wanted, "start")
        session, no = self.caller.session, self.deployment.no
        return count_groups(session, self._table, no, wanted, fields=fields, figures=figures, limit=limit)

    def list(self, wanted: RecordSearch, *, offset: int, limit: int) -> Sequence[ListedRecord]:
        """Returns the records that the search finds, all with the same names: of a column that a record lacks the value is None."""
        session, no = self.caller.session, self.deployment.no
        if not limit:
            return []
        if self.data_set.kind == FEEDBACK:
            rows = [self._feedback(record) for record in list_feedback(session, no, wanted, offset=offset, limit=limit)]
        elif wanted.is_plain:
            rows = [self._payload(record) for record in self._newest(wanted, offset, limit)]
        else:
            rows = [self._payload(record) for record in list_payload(session, no, wanted, offset=offset, limit=limit)]
        # Tables of the SDK have the names of the first record, and the values of each by position.
        names = dict.fromkeys(name for row in rows for name in row.values)
        return [ListedRecord(row.id, {name: row.values.get(name) for name in names}) for row in rows]

    def find(self, record_id: str) -> ListedRecord | None:
        """Returns the record of that id."""
        session, no = self.caller.session, self.deployment.no
        if self.data_set.kind == FEEDBACK:
            label = feedback_of_id(session, no, record_id)
            return None if label is None else self._feedback(label)
        stored = record_of(session, no, record_id)
        return None if stored is None else self._payload(stored)

    def _require_few(self, wanted: RecordSearch, field: str) -> None:
        within = RecordSearch(since=wanted.since, until=wanted.until)
        found = count_records(self.caller.session, self._table, self.deployment.no, within, up_to=MAX_SEARCHED + 1)
        if found > MAX_SEARCHED:
            message = f"would look through more than {MAX_SEARCHED:,} records; send `start` and `end` of a window with fewer"
            raise InvalidInput.of(field, message)

    @property
    def _table(self) -> SearchedTable:
        return STORED_PAYLOAD if self.data_set.kind == PAYLOAD else STORED_FEEDBACK

    def _newest(self, wanted: RecordSearch, offset: int, limit: int) -> Sequence[StoredRecord]:
        session, no, after = self.caller.session, self.deployment.no, None
        since, until = wanted.since or _EARLIEST, wanted.until or _LATEST
        if offset:
            after = nth_newest(session, no, None, before=until, since=since, count=offset)
            if after is None:
                return []
        found: list[StoredRecord] = []
        # A page may be cut to its size, but callers stop at a page that is shorter than asked for.
        while len(found) < limit:
            part = find_records(session, no, RecordFilter(since=since, until=until), after=after, limit=limit - len(found))
            found += part.records
            if not part.is_cut or not part.records:
                break
            after = part.records[-1].place
        return found

    def _payload(self, record: StoredRecord) -> ListedRecord:
        outputs = self.deployment.outputs
        row = self._cells(record.schema_version, record.features, record.meta)
        row[outputs.prediction] = record.prediction
        if outputs.probability is not None and outputs.probability != outputs.prediction:
            row[outputs.probability] = record.probability
        if outputs.label is not None:
            row[outputs.label] = record.label
        row |= {"scoring_id": record.record_id, "scoring_timestamp": moment(record.scored_at), "asset_revision": record.model_revision}
        if record.debiased is not None:
            row |= {"_debiased_prediction": record.debiased.get("prediction"), "_debiased_probability": record.debiased.get("probability")}
        return ListedRecord(record.record_id, row)

    def _feedback(self, one: StoredFeedback) -> ListedRecord:
        row = self._cells(one.schema_version, one.features, one.meta)
        row |= {self.label: one.label, "record_id": one.feedback_id, "record_timestamp": moment(one.logged_at)}
        row |= {"_original_prediction": one.predicted, "_original_probability": one.probability}
        return ListedRecord(one.feedback_id, row)

    def _cells(self, version: int, features: Sequence[Any] | None, meta: Sequence[Any] | None) -> dict[str, Any]:
        schema = self.schemas[version]
        named = [*zip(schema.features, features or (), strict=False), *zip(schema.meta, meta or (), strict=False)]
        return {column.name: value for column, value in named}


def records_in(form: str, data_set_id: str, rows: Sequence[ListedRecord]) -> list[Answer]:
    """Returns records in one of the two forms of the SDK: objects of values, or names and values by position."""
    if form == "list":
        # One table, as the SDK reads `records[0].fields`; and each record with its own, as it reads those of every entry.
        return [{"fields": list(row.values), "values": list(row.values.values()), "annotations": []} for row in rows]
    return [
        {
            "metadata": {"id": row.id, "url": f"/v2/data_sets/{data_set_id}/records/{row.id}"},
            "entity": {"values": row.values, "annotations": {}},
        }
        for row in rows
    ]
