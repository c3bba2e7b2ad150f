"""A month that `evenhand export` wrote comes back by `evenhand import`: every value, label and time, once, and nothing of other months."""

import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner, Result

from app.base.errors import InvalidInput, NotFound, SetupError
from app.cli import evenhand
from app.intake.imports.input_file import InputFile
from app.intake.imports.month_files import read_head, write_export
from tests.builders.page_words import says
from tests.builders.queries import rows
from tests.examples import many
from tests.service import RunningService

Run = Callable[..., Result]

MONTH = "2026-03"
FIRST, LAST = "2026-03-01T00:00:00+00:00", "2026-03-31T23:59:59.999999+00:00"

DEPLOYMENT: dict[str, Any] = {
    "id": "kinds",
    "name": "Values of all kinds",
    "problem_type": "multiclass",
    "features": [
        {"name": "id", "type": "string"},
        {"name": "amount", "type": "number"},
        {"name": "big", "type": "integer", "kind": "categorical"},
        {"name": "owner", "type": "boolean"},
        {"name": f"{'Größe ' * 20}“x”", "type": "string"},
    ],
    "meta": [{"name": "prediction", "type": "string"}, {"name": "age", "type": "integer"}],
    "outputs": {"prediction": "prediction", "probability": "probability", "label": "predictedLabel"},
    "model_revision": "r7",
}
NAMES = [column["name"] for column in DEPLOYMENT["features"]]

PAYLOAD = """SELECT record_id, scored_at, features::text, meta::text, prediction::text, probability::text, label::text, sample_rate
    FROM payload_records r JOIN deployments d ON d.no = r.deployment_no WHERE d.id = '{}' ORDER BY 1"""
FEEDBACK = """SELECT feedback_id, f.logged_at, f.features::text, f.meta::text, f.label::text, predicted::text, predicted_probability::text,
    usable_at, record_logged_at, r.record_id FROM feedback_records f JOIN deployments d ON d.no = f.deployment_no
    LEFT JOIN payload_records r USING (deployment_no, record_no) WHERE d.id = '{}' ORDER BY 1"""


@pytest.fixture
def run(service: RunningService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `evenhand` against the service and its database."""
    monkeypatch.setattr(os, "nice", lambda _: None)

    def run(*arguments: object, deployment: str = "kinds") -> Result:
        environment = {
            "DATABASE_URL": service.database.url,
            "EVENHAND_DATA_DIR": str(tmp_path),
            "EVENHAND_URL": service.base_url,
            "EVENHAND_KEY": service.admin_key,
            "EVENHAND_DEPLOYMENT": deployment,
            "TERM": "dumb",
        }
        state = ["--state", str(tmp_path / "state")] if arguments[0] == "import" else []
        return CliRunner().invoke(evenhand, [*map(str, arguments), *state], env=environment)

    return run


@pytest.fixture
def kinds(service: RunningService) -> RunningService:
    """The service with a deployment whose columns are of every type, and bear names of the columns of an export."""
    service.client.post("/v1/deployments", json=DEPLOYMENT).raise_for_status()
    return service


def log(service: RunningService, kind: str, records: Sequence[dict[str, Any]], *, historical: bool = True) -> None:
    query = {"historical": "true"} if historical else {}
    answer = service.client.post(f"/v1/deployments/kinds/{kind}-records", params=query, json={"records": records})
    assert (answer.status_code, answer.json().get("rejected")) == (200, 0), answer.text


def record(name: str, at: str, values: Sequence[object] = ("01", 0.1, 7, True, "x"), **members: object) -> dict[str, Any]:
    return {"id": name, "scored_at": at, "features": dict(zip(NAMES, values, strict=True)), "prediction": "yes"} | members


def export(run: Run, kind: str, file: Path, *more: str) -> Path:
    ended = run("export", kind, "--month", MONTH, "--output", file, *more)
    assert ended.exit_code == 0, ended.output + str(ended.exception)
    return file


def summary(ended: Result) -> list[int]:
    """The numbers of all rows, of those stored, of those stored before and of those rejected."""
    assert ended.exit_code == 0, ended.output + str(ended.exception)
    return [int(number) for number in re.findall(r"\d+", next(line for line in ended.output.splitlines() if " rows: " in line))]


@pytest.mark.thorough
def test_a_month_comes_back_in_a_new_deployment_and_in_its_own(run: Run, kinds: RunningService, tmp_path: Path) -> None:
    records = [
        record("01", FIRST, ("01", -0.0, -(2**63), False, "")),
        record("1", LAST, (None, 1e300, 2**63 - 1, None, "Zoë, “d'Arc”\n\\N\t😀"), prediction=1, probability=[0.1, 0.25, 0.65], label="1"),
        record("é", "2026-03-08T23:59:59.000001+05:30", (None,) * 5, prediction=True, probability=1, sample_rate=0.05),
        record("no meta", "2026-03-02T00:00:00Z", prediction=1e19, meta=None),
        record("null meta", "2026-03-02T00:00:00Z", prediction=0.1, meta={"age": None}),
        record(
            "meta", "2026-03-02T00:00:00Z", ("null", 5e-324, 2**53 + 1, True, '"'), prediction="null", meta={"prediction": "p", "age": 9}
        ),
    ]
    outside = [record("before", "2026-02-28T23:59:59.999999Z"), record("after", "2026-04-01T00:00:00Z")]
    log(kinds, "payload", [*records, *outside])
    labels = [
        {"id": "01", "label": "yes", "labelled_at": "2026-06-30T12:00:00.123456Z"},
        {"id": "1", "label": 1, "labelled_at": LAST},
        {"id": "é", "label": False, "labelled_at": "2026-01-01T00:00:00Z"},
        {"id": "waiting", "label": "01", "labelled_at": FIRST},
        record("alone", LAST, (None,) * 5, prediction="no", probability=[0.5, 0.5], label=1e19, labelled_at=LAST, meta={"age": 1}),
    ]
    others = [{"id": "before", "label": 1, "labelled_at": LAST}, {"id": "lone", "label": 1, "labelled_at": "2026-04-01T00:00:00Z"}]
    labels[-1].pop("scored_at")
    log(kinds, "feedback", [*labels, *others])

    payload, feedback = (export(run, kind, tmp_path / f"{kind}.parquet") for kind in ("payload", "feedback"))
    first = [
        summary(run("import", "payload", payload, "--register", deployment="copy")),
        summary(run("import", "feedback", feedback, deployment="copy")),
    ]
    again = [
        summary(run("import", kind, file, deployment=name))
        for name in ("copy", "kinds")
        for kind, file in (("payload", payload), ("feedback", feedback))
    ]

    assert first == [[6, 6, 0, 0], [5, 5, 0, 0]]
    assert again == 2 * [[6, 0, 6, 0], [5, 0, 5, 0]]
    parquet = {"Content-Type": "application/vnd.apache.parquet"}
    uploaded = kinds.client.post("/v1/deployments/copy/imports?kind=payload", content=payload.read_bytes(), headers=parquet).json()
    assert (uploaded["duplicate"], uploaded["rejected"]) == (6, 0)
    for query, wanted in ((PAYLOAD, records), (FEEDBACK, labels)):
        names = {one["id"] for one in wanted}
        assert rows(kinds.database, query.format("copy")) == [row for row in rows(kinds.database, query.format("kinds")) if row[0] in names]
    copy, original = (kinds.client.get(f"/v1/deployments/{name}").json() for name in ("copy", "kinds"))
    same = ("name", "problem_type", "features", "meta", "outputs", "model_revision")
    assert [copy[name] for name in same] == [original[name] for name in same]
    noted = "SELECT action, deployment_id, subject, details->>'rows' FROM activities WHERE action LIKE '%.exported' ORDER BY 1"
    assert rows(kinds.database, noted) == [
        ("feedback_records.exported", "kinds", MONTH, "5"),
        ("payload_records.exported", "kinds", MONTH, "6"),
    ]


VALUES = st.tuples(
    st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9),
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.booleans(),
    st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9),
)
ANSWERS = VALUES.flatmap(lambda values: st.sampled_from([value for value in values if value is not None] or ["yes"]))


@pytest.mark.thorough
@settings(max_examples=many(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    found=st.lists(
        st.tuples(VALUES, ANSWERS, st.integers(0, 31 * 24 * 60 * 60 * 10**6 - 1)),
        min_size=1,
        max_size=9,
    )
)
def test_any_values_come_back(run: Run, service: RunningService, tmp_path: Path, found: list[tuple[Any, ...]]) -> None:
    for name in ("kinds", "copy"):
        service.client.delete(f"/v1/deployments/{name}")
        service.client.post("/v1/deployments", json=DEPLOYMENT | {"id": name}).raise_for_status()
    log(
        service,
        "payload",
        [
            record(str(no), (datetime.fromisoformat(FIRST) + timedelta(microseconds=at)).isoformat(), values, prediction=answer)
            for no, (values, answer, at) in enumerate(found)
        ],
    )
    file = tmp_path / "any.parquet"
    file.unlink(missing_ok=True)

    assert summary(run("import", "payload", export(run, "payload", file), deployment="copy"))[1:] == [len(found), 0, 0]
    assert rows(service.database, PAYLOAD.format("copy")) == rows(service.database, PAYLOAD.format("kinds"))


def test_records_of_the_service_itself_are_recognised(run: Run, kinds: RunningService, tmp_path: Path) -> None:
    sent = [record("a", "2026-03-01T00:00:00Z"), {key: value for key, value in record("b", "").items() if key != "scored_at"}]
    log(kinds, "payload", sent, historical=False)
    (month,) = {
        found[0] for found in rows(kinds.database, "SELECT DISTINCT to_char(logged_at AT TIME ZONE 'UTC', 'YYYY-MM') FROM payload_records")
    }

    assert run("export", "payload", "--month", month, "--output", tmp_path / "new.parquet").exit_code == 0
    assert summary(run("import", "payload", tmp_path / "new.parquet")) == [2, 0, 2, 0]


@pytest.mark.thorough
def test_a_month_is_written_in_pieces_in_the_order_of_the_log(run: Run, kinds: RunningService, tmp_path: Path) -> None:
    with kinds.database.transaction() as session:
        session.execute(
            text(
                """INSERT INTO payload_records (deployment_no, logged_at, record_no, record_id, schema_version, model_revision, scored_at,
                       features, prediction)
                   SELECT d.no, at, n, 'r' || n, 1, 'r7', at, jsonb_build_array(repeat('x', 200), n, n, true, null), to_jsonb(n)
                   FROM generate_series(120000, 1, -1) n
                   CROSS JOIN LATERAL (SELECT timestamptz '2026-03-01Z' + n * interval '1 second' AS at) placed
                   JOIN deployments d ON d.id = 'kinds'"""
            )
        )

    found = pq.ParquetFile(export(run, "payload", tmp_path / "many.parquet"))

    # With parameters in its statement, ADBC gives all rows as one batch.
    assert found.num_row_groups > 1
    assert found.read(["id"])["id"].to_pylist() == [f"r{n}" for n in range(1, 120_001)]


def test_each_schema_version_has_a_file_of_its_own(run: Run, kinds: RunningService, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    log(kinds, "payload", [record("old", FIRST)])
    kinds.client.patch("/v1/deployments/kinds", json={"features": DEPLOYMENT["features"][1:]}).raise_for_status()
    shorter = record("new", FIRST)
    log(kinds, "payload", [shorter | {"features": {name: shorter["features"][name] for name in NAMES[1:]}}])
    old = export(run, "payload", tmp_path / "old.parquet", "--schema-version", "1")

    refused = [run("export", "payload", "--month", MONTH, "--output", tmp_path / "x", *more) for more in ((), ("--schema-version", "3"))]
    other = run("import", "payload", old)

    several, unknown, other_schema = (str(ended.exception) for ended in (*refused, other))
    assert says(several, "--schema-version", "2026-03", "kinds", "1 (1 records)", "2 (1 records)")
    assert says(unknown, "2026-03", "kinds", "schema version 3")
    assert says(other_schema, "'id'", "features")
    assert [several, unknown, other_schema] == snapshot
    assert pq.read_table(old)["id"].to_pylist() == ["old"]
    assert summary(run("import", "payload", old, "--register", deployment="as-it-was")) == [1, 1, 0, 0]


def test_pseudonyms_are_not_made_of_pseudonyms(run: Run, service: RunningService, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    groups = [{"label": "young", "values": [[18, 30]]}, {"label": "old", "values": [[31, 120]]}]
    storage = {"id": {"kind": "pseudonym"}, "big": {"kind": "groups", "sent": "integer", "groups": groups}}
    features = [
        {**feature, "type": "string", "storage": storage[feature["name"]]} if feature["name"] in storage else feature
        for feature in DEPLOYMENT["features"]
    ]
    service.client.post("/v1/deployments", json=DEPLOYMENT | {"features": features}).raise_for_status()
    log(service, "payload", [record("a", FIRST, ("Ada", 1.5, 40, True, "x"))])
    file = export(run, "payload", tmp_path / "protected.parquet")

    refused = run("import", "payload", file)

    assert says(str(refused.exception), "pseudonyms", "features.id")
    assert str(refused.exception) == snapshot
    assert summary(run("import", "payload", file, "--register", deployment="copy")) == [1, 1, 0, 0]
    assert rows(service.database, PAYLOAD.format("copy")) == rows(service.database, PAYLOAD.format("kinds"))


def test_a_file_of_another_kind_is_refused_with_the_reason(run: Run, kinds: RunningService, tmp_path: Path) -> None:
    log(kinds, "payload", [record("a", FIRST)])
    file = export(run, "payload", tmp_path / "a.parquet")
    table = pq.read_table(file)

    def changed(name: str, found: pa.Table) -> Path:
        pq.write_table(found, tmp_path / name)
        return tmp_path / name

    head = json.loads(table.schema.metadata[b"evenhand"])
    cases = [
        (("feedback", file), "holds payload records; import it with evenhand import payload"),
        (
            ("payload", changed("plain.parquet", table.replace_schema_metadata({})), "--layout", "evenhand"),
            "is not a file of `evenhand export`",
        ),
        (
            ("payload", changed("newer.parquet", table.replace_schema_metadata({b"evenhand": json.dumps(head | {"format": 2})}))),
            "has a head of `evenhand export` that was changed, or is of another version of Evenhand (Invalid enum value 2 - at `$.format`)",
        ),
        (("payload", changed("less.parquet", table.drop_columns(["label"]))), "has no column 'label', which `evenhand export` writes"),
    ]
    for arguments, reason in cases:
        ended = run("import", *arguments)
        assert isinstance(ended.exception, InvalidInput), ended.output
        assert reason in str(ended.exception)
    (tmp_path / "cut.parquet").write_bytes(file.read_bytes()[:-9])
    assert "cut.parquet: is not a Parquet file" in str(run("import", "payload", tmp_path / "cut.parquet").exception)
    spoilt = table.set_column(table.schema.names.index("prediction"), "prediction", pa.array(["{"]))
    assert says(run("import", "payload", changed("spoilt.parquet", spoilt)).output, "prediction", "JSON", "'{'")
    assert len(rows(kinds.database, PAYLOAD.format("kinds"))) == 1


def test_an_export_replaces_no_file_and_needs_records(run: Run, kinds: RunningService, tmp_path: Path) -> None:
    log(kinds, "payload", [record("a", FIRST)])
    file = export(run, "payload", tmp_path / "a.parquet")
    content = file.read_bytes()

    again = run("export", "payload", "--month", MONTH, "--output", file)
    nothing = run("export", "feedback", "--month", MONTH, "--output", tmp_path / "b.parquet")
    months = [
        run("export", "payload", "--month", month, "--output", tmp_path / "b.parquet") for month in ("March", "2026-13", "9999-12", "2026")
    ]

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert isinstance(again.exception, SetupError)
    assert file.read_bytes() == content
    assert isinstance(nothing.exception, NotFound)
    assert all(isinstance(ended.exception, InvalidInput) for ended in months)
    assert not (tmp_path / "b.parquet").exists()


def test_a_file_that_is_not_complete_does_not_stay(run: Run, kinds: RunningService, tmp_path: Path) -> None:
    log(kinds, "payload", [record("a", FIRST)])
    file = export(run, "payload", tmp_path / "a.parquet")
    head, table = read_head(InputFile.at(file)), pq.read_table(file)
    assert head is not None

    def cut() -> Iterator[pa.RecordBatch]:
        yield from table.to_batches()
        raise OSError("the server closed the connection")

    with pytest.raises(SetupError, match=r"Nothing was written to .*b\.parquet: .*the server closed the connection"):
        write_export(tmp_path / "b.parquet", head, pa.RecordBatchReader.from_batches(table.schema, cut()))
    assert not (tmp_path / "b.parquet").exists()
