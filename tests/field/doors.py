"""One file through every door: commands and library on the file itself, and every way to log its records in a service, then a check."""

import csv
import io
import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd
from evenhand_client import Evenhand

from app.base.values import name_value
from app.checks.check import perform_check
from app.checks.lease_queries import CHECK_POLICY, claim_check
from app.evidence.update import update_evidence
from app.library.hours_of_groups import follow_frame
from app.library.measurements import measure_frame
from app.mitigation.window.mitigate_window import mitigate_window
from tests.builders.check_results import read_results
from tests.field.commands import evenhand
from tests.models.serving import ModelServer, running
from tests.progress import wait_until
from tests.scenes import PlainSealer
from tests.service import RunningService

Cell = str
Value = str | int | float | bool | None

_READERS: dict[str, Callable[[Cell], Value]] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": lambda cell: cell.lower() in ("true", "1"),
}
"""The JSON value of a cell that is not empty, by the declared kind of its column."""


@dataclass(frozen=True)
class Row:
    id: Cell
    scored_at: Cell
    code: Cell
    prediction: Cell


@dataclass(frozen=True)
class TypedFile:
    """Records with one attribute `code` and a prediction. The kinds of both are declared wherever a door asks for them."""

    rows: tuple[Row, ...]
    reference: Cell
    favourable: tuple[Cell, ...]
    unfavourable: tuple[Cell, ...]
    code: str = "string"
    prediction: str = "string"

    @property
    def csv(self) -> str:
        """The file."""
        written = io.StringIO()
        writer = csv.writer(written, lineterminator="\n")
        writer.writerow(["id", "scored_at", "code", "prediction"])
        writer.writerows([row.id, row.scored_at, row.code, row.prediction] for row in self.rows)
        return written.getvalue()

    def is_value(self, cell: Cell) -> bool:
        """Whether a cell of the attribute is neither empty nor a text in a column of numbers."""
        return cell != "" and (self.code == "string" or not isinstance(self.json_of(cell), str))

    def label(self, cell: Cell) -> str:
        """The name of the group of a cell."""
        return name_value(_READERS[self.code](cell))

    def records(self) -> Iterator[dict[str, Any]]:
        """The records as JSON."""
        for row in self.rows:
            features = {"code": self.json_of(row.code)}
            yield {"id": row.id, "scored_at": row.scored_at, "features": features, "prediction": self.outcome_of(row.prediction)}

    def json_of(self, cell: Cell) -> Value:
        """The value of a cell of the attribute; as it is where it is none of its kind."""
        try:
            return None if cell == "" else _READERS[self.code](cell)
        except ValueError:
            return cell

    def outcome_of(self, cell: Cell) -> Value:
        """The value of a cell of the predictions."""
        return None if cell == "" else _READERS[self.prediction](cell)

    @property
    def storable(self) -> int:
        """Number of records that a service can store: those with a prediction, and without a text in a column of numbers."""
        return sum(row.prediction != "" and (row.code == "" or self.is_value(row.code)) for row in self.rows)

    @property
    def monitored(self) -> list[Cell]:
        """The first cell of each other group."""
        cells = {self.label(row.code): row.code for row in reversed(self.rows) if self.is_value(row.code)}
        return sorted(cell for label, cell in cells.items() if label != self.label(self.reference))

    def counted(self) -> "Counted":
        """Counts and ratios, by the cells alone."""
        groups: dict[str, tuple[int, int]] = {}
        for row in self.rows:
            if self.is_value(row.code) and row.prediction in (*self.favourable, *self.unfavourable):
                favourable, n = groups.get(self.label(row.code), (0, 0))
                groups[self.label(row.code)] = (favourable + (row.prediction in self.favourable), n + 1)
        return Counted.of(groups, self.label(self.reference))


@dataclass(frozen=True)
class Counted:
    """Favourable and all records of each group, and the ratio of each rate to that of the reference, if it is not 0."""

    groups: Mapping[str, tuple[int, int]]
    ratios: Mapping[str, float | None]

    @classmethod
    def of(cls, groups: Mapping[str, tuple[int, int]], reference: str) -> "Counted":
        """Computes the ratios."""
        favourable, n = groups[reference]
        rate = favourable / n
        ratios = {label: yes / of / rate if rate else None for label, (yes, of) in groups.items() if label != reference}
        return cls(groups, ratios)


def read_measurements(rows: list[dict[str, Any]], reference: str) -> Counted:
    """Reads the disparate impact of each group, and its counts, out of measurements as JSON."""
    groups: dict[str, tuple[int, int]] = {}
    ratios: dict[str, float | None] = {}
    for row in rows:
        if (row["metric"], row["scope"]) == ("favourable_rate", "group"):
            groups[row["group"]] = (row["details"].get("favourable", 0), row["n"])
        elif (row["metric"], row["scope"]) == ("disparate_impact", "group"):
            ratios[row["group"]] = row["value"]
    return Counted(groups, {label: ratio for label, ratio in ratios.items() if label != reference})


# Doors that read the file itself.


def _options(file: TypedFile) -> list[str]:
    favourable = [f"--favourable={cell}" for cell in file.favourable]
    unfavourable = [f"--unfavourable={cell}" for cell in file.unfavourable]
    numbers = ["--number=code"] if file.code in ("integer", "number") else []
    numbers += ["--number=prediction"] if file.prediction in ("integer", "number") else []
    return ["--attribute=code", "--prediction=prediction", *favourable, *unfavourable, *numbers]


def _sides(file: TypedFile) -> list[str]:
    """Groups by name, as a monitor lists them: of values that differ by a blank alone, only listed ones are groups."""
    return [f"--reference={file.reference}", *(f"--monitored={cell}" for cell in file.monitored)]


def _write(file: TypedFile, folder: Path) -> Path:
    path = folder / "typed.csv"
    path.write_text(file.csv, encoding="utf-8", newline="")
    return path


def measure_by_command(file: TypedFile, folder: Path) -> Counted:
    """`evenhand metrics`."""
    output = folder / "typed.json"
    metrics = ["--metric=favourable_rate", "--metric=disparate_impact"]
    ended = evenhand("metrics", _write(file, folder), *_options(file), *_sides(file), *metrics, "--output", output)
    assert ended.status == 0, ended.text
    return read_measurements(json.loads(output.read_text(encoding="utf-8"))["measurements"], file.label(file.reference))


def report_by_command(file: TypedFile, folder: Path) -> Counted:
    """`evenhand report`."""
    reference = file.label(file.reference)
    options = [*_options(file), f"--reference={file.reference}", "--preset=ugesp", "--format=json"]
    ended = evenhand("report", "--from-csv", _write(file, folder), *options)
    assert ended.status == 0, ended.text
    (table,) = json.loads(ended.stdout)["sheets"]["adverse_impact"]["tables"]
    groups = {row["category"]: (row["selected"], row["applicants"]) for row in table["rows"]}
    return Counted(groups, {row["category"]: row["ratio_to_reference"] for row in table["rows"] if row["category"] != reference})


def _read_frame(file: TypedFile) -> pd.DataFrame:
    """The values as a user of the library has them."""
    columns: dict[str, list[Value]] = {
        "scored_at": [row.scored_at for row in file.rows],
        "code": [file.json_of(row.code) if file.is_value(row.code) else None for row in file.rows],
        "prediction": [file.outcome_of(row.prediction) for row in file.rows],
    }
    return pd.DataFrame(columns, dtype=object)


def _listed(file: TypedFile) -> dict[str, Any]:
    return {
        "attribute": "code",
        "prediction": "prediction",
        "reference": file.json_of(file.reference),
        "monitored": [file.json_of(cell) for cell in file.monitored],
        "favourable": [file.outcome_of(cell) for cell in file.favourable],
        "unfavourable": [file.outcome_of(cell) for cell in file.unfavourable],
    }


def measure_by_library(file: TypedFile, folder: Path) -> Counted:  # noqa: ARG001 - as the other doors
    """`measure_frame`."""
    report = measure_frame(_read_frame(file), **_listed(file), metrics=["favourable_rate", "disparate_impact"])
    return read_measurements(report.to_json()["measurements"], file.label(file.reference))


Compared = dict[tuple[str, str], tuple[Any, ...]]
"""State, start, alarm and interval of a comparison, by group and direction."""


def read_comparisons(rows: list[dict[str, Any]]) -> Compared:
    """Reads what evidence says of the disparate impact as logged."""
    return {
        (row["group"], row["direction"]): tuple(row[name] for name in ("state", "since", "alarm_at", "interval"))
        for row in rows
        if row["metric"] == "disparate_impact" and row.get("data") in (None, "payload", "as_logged")
    }


def follow_by_command(file: TypedFile, folder: Path) -> Compared:
    """`evenhand evidence`."""
    ended = evenhand("evidence", _write(file, folder), "--time=scored_at", *_options(file), *_sides(file), "--json")
    assert ended.status == 0, ended.text
    return read_comparisons(json.loads(ended.stdout)["comparisons"])


def follow_by_library(file: TypedFile) -> Compared:
    """`follow_frame`."""
    return read_comparisons(follow_frame(_read_frame(file), time="scored_at", **_listed(file)).to_json()["comparisons"])


FILE_DOORS: dict[str, Callable[[TypedFile, Path], Counted]] = {
    "metrics": measure_by_command,
    "report": report_by_command,
    "library": measure_by_library,
}


# Doors of a service.


@dataclass
class Answers:
    """A model that gives the answers of the present call."""

    values: list[Value] = field(default_factory=list)

    def predict(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:  # noqa: ARG002 - as other models
        """The answers; to a check, which asks for other rows, always the first."""
        values = self.values if len(rows) == len(self.values) else [self.values[0]] * len(rows)
        return [(value, None) for value in values]


@dataclass(frozen=True)
class ServiceDoors:
    """A service without a worker, and the model that its gateway calls."""

    service: RunningService
    model: ModelServer
    answers: Answers
    folder: Path

    def register(self, file: TypedFile, door: str) -> str:
        """A deployment for one file and door."""
        name = f"door-{uuid.uuid4().hex[:12]}"
        body: dict[str, Any] = {
            "id": name,
            "name": name,
            "problem_type": "binary",
            "features": [{"name": "code", "type": file.code}],
            "outputs": {"prediction": "prediction"},
        }
        if door == "gateway":
            body["endpoint"] = {"url": self.model.url}
        self.service.client.post("/v1/deployments", json=body).raise_for_status()
        return name

    def watch(self, file: TypedFile, name: str) -> None:
        """Sets the monitor: every group but the reference is watched."""
        body = {
            "favourable": [file.outcome_of(cell) for cell in file.favourable],
            "unfavourable": [file.outcome_of(cell) for cell in file.unfavourable],
            "attributes": [
                {
                    "feature": "code",
                    "monitored": [file.json_of(cell) for cell in file.monitored],
                    "reference": [file.json_of(file.reference)],
                }
            ],
            "min_records": file.storable,
            "max_records": 100_000,
            "metrics": ["favourable_rate", "disparate_impact"],
        }
        answer = self.service.client.put(f"/v1/deployments/{name}/fairness-monitor", json=body)
        assert answer.is_success, answer.text

    def check(self, name: str) -> dict[str, Any]:
        """Checks the newest records, in this thread."""
        self.service.client.post(f"/v1/deployments/{name}/checks").raise_for_status()
        with self.service.database.transaction() as session:
            run = claim_check(session, token="worker", policy=CHECK_POLICY)  # noqa: S106 - a lease's, no secret
        assert run is not None
        perform_check(run, database=self.service.database, sealer=PlainSealer(), report=lambda _: None, further=mitigate_window)
        return read_results(self.service.client, f"/v1/deployments/{name}/checks/{run.id}")

    def follow(self, name: str) -> Compared:
        """Counts all hours, and returns the evidence."""
        update_evidence(self.service.database, grace=timedelta(0))
        answer = self.service.client.get(f"/v1/deployments/{name}/evidence", params={"limit": 1000}).raise_for_status()
        return read_comparisons(answer.json()["comparisons"])

    @contextmanager
    def logged(self, file: TypedFile, door: str) -> Iterator[str]:
        """A deployment that has the records through the door, and its monitor."""
        name = self.register(file, door)
        try:
            self.watch(file, name)
            SERVICE_DOORS[door](self, file, name)
            yield name
        finally:
            self.service.client.delete(f"/v1/deployments/{name}").raise_for_status()

    def measure(self, file: TypedFile, door: str) -> Counted:
        """Logs the records through the door, and checks them."""
        with self.logged(file, door) as name:
            return self.count(file, name)

    def count(self, file: TypedFile, name: str) -> Counted:
        """Checks a deployment that has the records."""
        rows = [row for row in self.check(name)["measurements"] if row["data"] in ("payload", "as_logged")]
        return read_measurements(rows, file.label(file.reference))

    def stored(self, name: str) -> list[dict[str, Any]]:
        """The stored records."""
        page = self.service.client.get(f"/v1/deployments/{name}/payload-records", params={"limit": 1000}).raise_for_status().json()
        records: list[dict[str, Any]] = page["payload_records"]
        return records

    def await_records(self, name: str, count: int) -> None:
        """Waits until so many are stored."""
        wait_until(lambda: len(self.stored(name)) >= count, f"{count} records are stored")


def _import(doors: ServiceDoors, file: TypedFile, name: str) -> None:
    path = doors.folder / f"{name}.csv"
    path.write_text(file.csv, encoding="utf-8", newline="")
    service = ["--url", doors.service.base_url, "--key", doors.service.admin_key, "--deployment", name, "--state", doors.folder / name]
    ended = evenhand("import", "payload", path, *service)
    assert ended.status in (0, 3), ended.text


def _upload(doors: ServiceDoors, file: TypedFile, name: str) -> None:
    address, headers = f"/v1/deployments/{name}/imports?kind=payload", {"Content-Type": "text/csv"}
    answer = doors.service.client.post(address, content=file.csv.encode(), headers=headers)
    assert answer.is_success, answer.text


def _post(doors: ServiceDoors, file: TypedFile, name: str) -> None:
    address = f"/v1/deployments/{name}/payload-records?historical=true"
    answer = doors.service.client.post(address, json={"records": list(file.records())})
    assert answer.is_success, answer.text


def _send_events(doors: ServiceDoors, file: TypedFile, name: str) -> None:
    request = {"instances": [[record["features"]["code"]] for record in file.records()]}
    answer = {"predictions": [{"prediction": record["prediction"]} for record in file.records()]}
    for side, body in (("request", request), ("response", answer)):
        headers = {
            "ce-specversion": "1.0",
            "ce-id": "call",
            "ce-type": f"org.kubeflow.serving.inference.{side}",
            "ce-source": "http://127.0.0.1/",
            "ce-time": file.rows[0].scored_at,
            "content-type": "application/json",
        }
        sent = doors.service.client.post(f"/v1/deployments/{name}/events", json=body, headers=headers)
        assert sent.json()["received"] == 1, sent.text
    doors.await_records(name, file.storable)


def _call_gateway(doors: ServiceDoors, file: TypedFile, name: str) -> None:
    doors.answers.values = [record["prediction"] for record in file.records()]
    body = {"fields": ["code"], "values": [[record["features"]["code"]] for record in file.records()]}
    doors.service.client.post(f"/v1/deployments/{name}/predictions", json=body).raise_for_status()
    doors.await_records(name, file.storable)


def _log_by_client(doors: ServiceDoors, file: TypedFile, name: str) -> None:
    with doors.service.new_client() as http:
        client = Evenhand(doors.service.application.address, doors.service.admin_key, name, http=http)
        for record in file.records():
            client.log(record["features"], record["prediction"], id=record["id"], scored_at=record["scored_at"])
        client.close()


SERVICE_DOORS: dict[str, Callable[[ServiceDoors, TypedFile, str], None]] = {
    "import": _import,
    "upload": _upload,
    "records": _post,
    "events": _send_events,
    "gateway": _call_gateway,
    "client": _log_by_client,
}


@contextmanager
def open_doors(service: RunningService, folder: Path) -> Iterator[ServiceDoors]:
    """The doors of a service that runs."""
    answers = Answers()
    with running(ModelServer(answers)) as model:
        yield ServiceDoors(service, model, answers, folder)
