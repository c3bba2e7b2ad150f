"""The story: register a model, define what is fair, log its decisions, have it checked, by the REST API."""

import contextlib
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import httpx
import numpy as np
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from ...base.clock import HOUR, floor_to_hour
from ...base.errors import SetupError
from ...base.strict_json import JsonObject
from ...base.values import frozen
from ..import_service import read_content, request_until_answered
from .applicants import (
    BAD,
    DECISION,
    FEATURES,
    GOOD,
    Applicant,
    draw_applicants,
    draw_outcomes,
    draw_training_data,
)
from .model_address import OUTPUTS

TIMEOUT_SECONDS = 30


class ExampleStopped(Exception):
    """Ctrl-C ended a pause."""


class PausingClient:
    """HTTP client that repeats requests until they are answered; `stop` ends its pauses."""

    def __init__(
        self, base_url: str, stop: threading.Event, *, headers: dict[str, str] | None = None
    ) -> None:
        self._stop = stop
        # Loopback must not go through a proxy.
        self._client = httpx.Client(
            base_url=base_url, headers=headers, timeout=TIMEOUT_SECONDS, trust_env=False
        )

    def ask(self, method: str, path: str, body: Any = None, **options: Any) -> Any:  # noqa: ANN401 - httpx' options
        return read_content(self.request(method, path, json=body, **options))

    def find(self, path: str) -> Any | None:  # noqa: ANN401 - any JSON
        response = self.request("GET", path)
        return None if response.status_code == httpx.codes.NOT_FOUND else read_content(response)

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:  # noqa: ANN401 - as above
        return request_until_answered(self._client, method, path, pause=self._pause, **options)

    def _pause(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise ExampleStopped


DEPLOYMENT_ID = "credit-risk"
ADDRESS = f"/v1/deployments/{DEPLOYMENT_ID}"


class Evenhand(PausingClient):
    def log(self, kind: str, records: Sequence[JsonObject], **query: str) -> None:
        if not records:
            return
        receipt = self.ask("POST", f"{ADDRESS}/{kind}", {"records": list(records)}, params=query)
        if receipt["rejected"]:
            raise SetupError(
                f"{receipt['rejected']} of {receipt['sent']} {kind} were rejected: "
                f"{receipt['rejections'] or receipt['conflicts']}"
            )


def ask_scores(model: PausingClient, people: Sequence[Applicant]) -> list[dict[str, Any]]:
    answer = model.ask(
        "POST",
        "/score",
        {"fields": list(FEATURES), "values": [list(applicant.values()) for applicant in people]},
    )
    return [dict(zip(answer["fields"], row, strict=True)) for row in answer["values"]]


SEED = 7
MIN_VISITS = 150
MAX_VISITS = 420
"""Of an hour, in a wave over the day."""

BUSIEST_HOUR = 13

LABELLED_SHARE = 0.4
MAX_LABEL_DELAY = timedelta(hours=12)


@frozen
class Visit:
    id: str
    at: datetime
    applicant: Applicant


@dataclass(frozen=True, slots=True, order=True)
class Label:
    """Outcome of a visit, and when it becomes known; ordered by that time."""

    known_at: datetime
    id: str
    outcome: str

    def build_record(self) -> JsonObject:
        return {"id": self.id, "label": self.outcome, "labelled_at": self.known_at.isoformat()}


def build_payload_records(visits: Sequence[Visit], model: PausingClient) -> list[JsonObject]:
    return [
        {
            "id": visit.id,
            "scored_at": visit.at.isoformat(),
            "features": visit.applicant,
            "prediction": answer["prediction"],
            "probability": answer["probability"],
            "label": answer["predictedLabel"],
        }
        for visit, answer in zip(
            visits, ask_scores(model, [visit.applicant for visit in visits]), strict=True
        )
    ]


def draw_visits(hour: datetime) -> tuple[list[Visit], list[Label]]:
    """The same ones in every run."""
    random = np.random.default_rng([SEED, int(hour.timestamp())])
    wave = (1 + math.cos(2 * math.pi * (hour.hour - BUSIEST_HOUR) / 24)) / 2
    people = draw_applicants(round(MIN_VISITS + (MAX_VISITS - MIN_VISITS) * wave), random)
    times = [hour + share * HOUR for share in sorted(random.random(len(people)))]
    visits = [
        Visit(f"{hour:%Y%m%dT%H}-{no:03}", at, applicant)
        for no, (at, applicant) in enumerate(zip(times, people, strict=True))
    ]
    return visits, draw_labels(visits, MAX_LABEL_DELAY, random)


def draw_labels(visits: Sequence[Visit], latest: timedelta, random: np.random.Generator) -> list[Label]:
    draws = zip(
        visits,
        draw_outcomes([visit.applicant for visit in visits], random),
        random.random((len(visits), 2)),
        strict=True,
    )
    return [
        Label(visit.at + float(delay) * latest, visit.id, outcome)
        for visit, outcome, (chance, delay) in draws
        if chance < LABELLED_SHARE
    ]


DEPLOYMENT_BODY = {
    "id": DEPLOYMENT_ID,
    "name": "Credit risk",
    "problem_type": "binary",
    "features": [{"name": name, "type": kind} for name, kind in FEATURES.items()],
    "outputs": OUTPUTS,
}
MONITOR_BODY = {
    "favourable": [GOOD],
    "unfavourable": [BAD],
    "attributes": [
        {
            "feature": "sex",
            "monitored": ["female"],
            "reference": ["male"],
            "threshold": 0.8,
            "upper_threshold": 1.25,
        },
        {
            "feature": "age",
            "monitored": [[18, 25]],
            "reference": [[26, 75]],
            "threshold": 0.8,
            "upper_threshold": 1.25,
        },
    ],
    "intersections": [["sex", "age"]],
    "min_records": 500,
    # Every applicant is made up for one visit.
    "evidence": {"each_record_another_person": True},
    "names": {
        "favourable": f"rated {GOOD}",
        "groups": {
            "sex": {"female": "women", "male": "men"},
            "age": {"18-25": "aged 18–25", "26-75": "aged 26–75"},
        },
    },
}
POLL_SECONDS = 0.2
_UNENDED_STATES = {"queued", "running"}


class StepPrinter:
    """Prints the steps of the story, with bars on a terminal."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def print_done(self, sentence: str) -> None:
        self.console.print(f"[green]✓[/] {sentence}", highlight=False)

    @contextlib.contextmanager
    def show_bar(self, description: str, total: int | None = None) -> Iterator[Callable[[], None]]:
        counts = [] if total is None else [BarColumn(), MofNCompleteColumn()]
        if not self.console.is_terminal:
            yield lambda: None
            return
        columns = (SpinnerColumn(), TextColumn("{task.description}"), *counts, TimeElapsedColumn())
        with Progress(*columns, console=self.console, transient=True) as progress:
            task = progress.add_task(description, total=total)
            yield lambda: progress.advance(task)


@frozen
class ExampleRun:
    """Services of a run of the example, and its output."""

    evenhand: Evenhand
    model: PausingClient
    model_url: str
    steps: StepPrinter
    stop: threading.Event


def register(run: ExampleRun) -> None:
    evenhand = run.evenhand
    endpoint = {"url": run.model_url}
    stored = evenhand.find(ADDRESS)
    if stored is None:
        evenhand.ask("POST", "/v1/deployments", {**DEPLOYMENT_BODY, "endpoint": endpoint})
    elif (stored["endpoint"] or {}).get("url") != run.model_url:
        evenhand.ask("PATCH", ADDRESS, {"endpoint": endpoint})
    if evenhand.find(f"{ADDRESS}/fairness-monitor") is None:
        evenhand.ask("PUT", f"{ADDRESS}/fairness-monitor", MONITOR_BODY)
    if evenhand.find(f"{ADDRESS}/training-data") is None:
        table = {"content": draw_training_data().to_csv(index=False), "headers": {"Content-Type": "text/csv"}}
        evenhand.ask("PUT", f"{ADDRESS}/training-data", params={"label": DECISION}, **table)
    run.steps.print_done(
        f"Registered [bold]{DEPLOYMENT_ID}[/], a monitor of sex, age and both, and training data"
    )


def log_missing_hours(run: ExampleRun, hours: int, now: datetime) -> list[Label]:
    """Logs traffic of those of the last `hours` hours that are not checked, and has each checked. Returns the
    labels that are still to come.
    """
    checks = run.evenhand.ask("GET", f"{ADDRESS}/checks", params={"limit": 1000})["checks"]
    checked_hours = set()
    for check in checks:
        if check["state"] in _UNENDED_STATES:
            has_records = check["trigger"] == "range"  # left by an interrupted run
        else:
            # Silent hours get scheduled checks too; a check on request is of the present hour.
            has_records = check["trigger"] != "request" and (check["window"] or {}).get("logged_in_span")
        if has_records:
            checked_hours.add(datetime.fromisoformat(check["from"]))
    missing = [
        hour
        for hour in (floor_to_hour(now) - ago * HOUR for ago in range(hours, 0, -1))
        if hour not in checked_hours
    ]
    if not missing:
        run.steps.print_done("The hours before this one are logged and checked already")
        return []

    span = f"{len(missing)} hour{'s' if len(missing) > 1 else ''}"
    records = 0
    labels = 0
    pending = list[Label]()
    with run.steps.show_bar(
        "Scoring applicants and logging them, hour by hour", total=len(missing)
    ) as advance:
        for hour in missing:
            visits, hour_labels = draw_visits(hour)
            due = [label for label in hour_labels if label.known_at <= now]
            run.evenhand.log("payload-records", build_payload_records(visits, run.model), historical="true")
            run.evenhand.log("feedback-records", [label.build_record() for label in due], historical="true")
            pending += [label for label in hour_labels if label.known_at > now]
            records += len(visits)
            labels += len(due)
            advance()
    run.steps.print_done(f"Logged {span} of traffic: {records:,} scored applicants, {labels:,} labels")

    too_few = 0
    with run.steps.show_bar("Checking hour by hour", total=len(missing)) as advance:
        bounds = [{"from": hour.isoformat(), "to": (hour + HOUR).isoformat()} for hour in missing]
        # All checks are requested before the first wait: the worker always has the next one.
        for check in [run.evenhand.ask("POST", f"{ADDRESS}/checks", span) for span in bounds]:
            ended = _await_end(run, check)
            if ended["state"] == "failed":
                raise SetupError(f"The check of the hour {ended['from']} failed: {ended['reason']}")
            too_few += ended["state"] == "insufficient_data"
            advance()
    remark = f"; the first {too_few if too_few > 1 else 'one'} had too few records yet" if too_few else ""
    run.steps.print_done(f"Checked {span}{remark}")
    return pending


def check_now(run: ExampleRun) -> JsonObject:
    with run.steps.show_bar("Checking the present hour"):
        check = _await_end(run, run.evenhand.ask("POST", f"{ADDRESS}/checks"))
    if check["state"] != "succeeded":
        raise SetupError(f"The check {check['id']} ended as {check['state']}: {check['reason']}")
    window = check["window"]
    run.steps.print_done(
        f"Checked the present hour: {window['records']} records, topped up with "
        f"{window['additional_records']} earlier ones"
    )
    return check


def explain_gaps(run: ExampleRun, check: JsonObject) -> None:
    """Has the model asked what carries the gaps of the check; pages show it with each group."""
    path = f"{ADDRESS}/attributions"
    with run.steps.show_bar("Asking the model what carries the gaps"):
        question = {"check_id": check["id"], "comparisons": [["sex"], ["age"], ["sex", "age"]]}
        attribution = _await_end(run, run.evenhand.ask("POST", path, question), path)
    if attribution["state"] != "done":
        raise SetupError(f"What carries the gaps was not explained: {attribution['problem']}")
    run.steps.print_done(f"Explained the gaps by asking the model about {attribution['asked_rows']:,} rows")


def read_measurements(run: ExampleRun, check: JsonObject) -> Any:  # noqa: ANN401 - any JSON
    return run.evenhand.ask("GET", f"{ADDRESS}/checks/{check['id']}/measurements", params={"limit": 1000})[
        "measurements"
    ]


def _await_end(run: ExampleRun, job: JsonObject, path: str = f"{ADDRESS}/checks") -> JsonObject:
    """Returns the check, or the other job of that path, once it has ended."""
    while job["state"] in _UNENDED_STATES:
        job = run.evenhand.ask("GET", f"{path}/{job['id']}")
        if job["state"] in _UNENDED_STATES and run.stop.wait(POLL_SECONDS):
            raise ExampleStopped
    return job
