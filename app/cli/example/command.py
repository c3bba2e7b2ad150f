"""`evenhand example`: the whole service, a model next to it, and a story about the two."""

import contextlib
import os
import queue
import socket
import sys
import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text
from typer import Exit, Option, Typer

from ...access.keys.queries import create_key, page_keys, revoke_key
from ...access.principals import Role
from ...base.clock import utc_now
from ...base.errors import EvenhandError, SetupError
from ...base.settings import Settings
from ...base.values import frozen_by_name
from ...database.engine import Database
from ...domain.paging import Paging
from ..database import build_module_command, build_stop_signal, load_service_settings
from ..service.serve import find_reachable_host, run_service
from ..service.supervisor import ChildSpec
from .applicants import draw_applicants
from .model_address import MODEL_SERVER_MODULE, open_model_listener
from .story import (
    ADDRESS,
    Evenhand,
    ExampleRun,
    ExampleStopped,
    Label,
    PausingClient,
    StepPrinter,
    Visit,
    ask_scores,
    build_payload_records,
    check_now,
    draw_labels,
    explain_gaps,
    log_missing_hours,
    read_measurements,
    register,
)

Point = Mapping[str, Any]
"""Measurement as JSON."""

COLUMNS: tuple[tuple[str, JustifyMethod], ...] = (
    ("Group", "left"),
    ("n", "right"),
    ("Data", "left"),
    ("Impact\nratio", "right"),
    ("Interval", "left"),
    ("Verdict", "left"),
    ("Perfect\nequality", "right"),
    ("Accuracy", "right"),
)

VERDICT_COLOURS = {"fair": "green", "unwatched": "yellow", "suspected": "yellow", "unfair": "red"}


IMPACT_ROWS = (
    ("as logged", "disparate_impact", "as_logged"),
    ("  mitigated", "disparate_impact_after", "mitigated"),
    ("counterfactual", "disparate_impact", "counterfactual"),
    ("  mitigated", "counterfactual_disparate_impact_after", "mitigated"),
)


def build_results_table(check: Mapping[str, Any], measurements: Sequence[Point]) -> Table:
    figures = {
        tuple(
            measurement[member] for member in ("metric", "data", "scope", "attribute", "group")
        ): measurement
        for measurement in measurements
    }
    records = check["window"]["records"] + check["window"]["additional_records"]
    accuracy = _format_number(figures.get(("accuracy", "labelled", "overall", None, None)))
    table = Table(
        title=f"{check['deployment_id']}: {records:,} records up to {check['to'][:16].replace('T', ' ')} UTC",
        caption=f"Interval: 95 %. Accuracy over all labelled records: {accuracy}.",
        caption_justify="left",
        box=None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for heading, justify in COLUMNS:
        table.add_column(heading, justify=justify, no_wrap=heading != "Verdict")
    previous_attribute = None
    for (metric, data, scope, attribute, group), rate in figures.items():
        if (metric, data, scope) != ("favourable_rate", "as_logged", "group"):
            continue
        equality = _format_number(
            figures.get(("perfect_equality", "openscale", "attribute", attribute, None))
        )
        if attribute != previous_attribute:
            table.add_row()
        subject_cells = [group if "×" in attribute else f"{attribute} {group}", str(rate["n"])]
        accuracy = _format_number(figures.get(("accuracy", "labelled", "group", attribute, group)))
        if ("disparate_impact", "as_logged", "group", attribute, group) not in figures:
            table.add_row(*subject_cells, "", "", "", Text("reference", style="dim"), "", accuracy)
        for name, impact_metric, impact_data in IMPACT_ROWS:
            impact = figures.get((impact_metric, impact_data, "group", attribute, group))
            if impact:
                is_equality_shown = name == "counterfactual" and attribute != previous_attribute
                equality_cell = equality if is_equality_shown else ""
                table.add_row(*subject_cells, name, *_format_impact(impact), equality_cell, accuracy)
                subject_cells = ["", ""]
                accuracy = ""
        previous_attribute = attribute
    table.add_row()
    return table


def _format_impact(impact: Point) -> list[str | Text]:
    verdict = str(impact["verdict"] or "")
    upper = "" if impact["upper"] is None else f"{impact['upper']:.2f}"
    interval = "" if impact["lower"] is None else f"{impact['lower']:.2f}–{upper}"
    return [
        _format_number(impact),
        interval,
        Text(verdict.replace("_", " "), style=VERDICT_COLOURS.get(verdict, "dim")),
    ]


def _format_number(point: Point | None) -> str:
    return "" if point is None or point["value"] is None else f"{point['value']:.2f}"


APPLICANTS_PER_SECOND = 2.0
MAX_LABEL_DELAY = timedelta(minutes=3)


class ApplicantStream:
    """Live applicants, who are scored and logged one by one, and their labels, which come later."""

    def __init__(self, evenhand: Evenhand, model: PausingClient) -> None:
        self._evenhand = evenhand
        self._model = model
        self._random = np.random.default_rng()
        self._expected = queue.PriorityQueue[Label]()
        self.logged = 0
        self.labelled = 0

    def expect(self, labels: Iterable[Label]) -> None:
        for label in labels:
            self._expected.put(label)

    def run(self, stop: threading.Event) -> None:
        while not stop.wait(self._random.exponential(1 / APPLICANTS_PER_SECOND)):
            now = utc_now()
            visits = [
                Visit(str(uuid.uuid4()), now, applicant) for applicant in draw_applicants(1, self._random)
            ]
            self._evenhand.log("payload-records", build_payload_records(visits, self._model))
            self.logged += 1
            self.expect(draw_labels(visits, MAX_LABEL_DELAY, self._random))

            # Other threads may add labels; only this one takes them.
            now = utc_now()
            due = []
            while not self._expected.empty() and self._expected.queue[0].known_at <= now:
                due.append(self._expected.get())
            self._evenhand.log("feedback-records", [label.build_record() for label in due])
            self.labelled += len(due)


POLL_SECONDS = 0.2


@frozen_by_name
class ExamplePerformance:
    """The story of a run, printed next to the running service."""

    console: Console
    stop: threading.Event
    service_url: str
    model_url: str
    log: Path

    def run(self, keys: queue.SimpleQueue[str], hours: int, *, once: bool) -> None:
        """Starts when there is a key; with `once` it ends after the results. Raises Unavailable."""
        steps = StepPrinter(self.console)
        with steps.show_bar("Starting the database, the service, a worker and the model"):
            key = None
            while key is None:
                if self.stop.is_set():
                    raise ExampleStopped
                with contextlib.suppress(queue.Empty):
                    key = keys.get(timeout=POLL_SECONDS)
            evenhand = Evenhand(self.service_url, self.stop, headers={"Authorization": f"Bearer {key}"})
            model = PausingClient(self.model_url, self.stop)
            run = ExampleRun(evenhand, model, f"{self.model_url}/score", steps, self.stop)
            evenhand.ask("GET", "/health/ready")
            self._print(
                f"Pages                      {self.service_url}/  (log in with the key)",
                f"Key of this run            {key}",
            )
            ask_scores(model, draw_applicants(1, np.random.default_rng()))
        steps.print_done("Started the database, the service, a worker and the model")
        register(run)
        stream = ApplicantStream(evenhand, model)
        with ThreadPoolExecutor(max_workers=1) as pool:
            stream_run = pool.submit(stream.run, self.stop)
            try:
                steps.print_done("Began a live stream of applicants, scored and logged one by one")
                stream.expect(log_missing_hours(run, hours, utc_now()))
                check = check_now(run)
                self.console.print(
                    "", build_results_table(check, read_measurements(run, check)), "", sep="\n"
                )
                explain_gaps(run, check)
                series = "metric=disparate_impact&data=counterfactual&attribute=sex&scope=group&rollup=day"
                address = f"{self.service_url}{ADDRESS}/measurements?{series}"
                self._print(
                    f"API and its documentation  {self.service_url}/docs",
                    f"Model                      {self.model_url}/score",
                    f"Log                        {self.log}",
                    "A series, day by day:",
                    f"  curl -s -H 'Authorization: Bearer {key}' '{address}'",
                )
                if not once:
                    with self.console.status("") as status:
                        while not (stream_run.done() or self.stop.wait(POLL_SECONDS)):
                            live = (
                                f"Live: {stream.logged:,} applicants scored and logged, "
                                f"{stream.labelled:,} labels came later."
                            )
                            status.update(f"{live} Every ended hour is checked. Ctrl-C stops everything.")
            finally:
                self.stop.set()
        with contextlib.suppress(ExampleStopped):
            # Raises the stream's error.
            stream_run.result()

    def _print(self, *lines: str) -> None:
        for line in lines:
            self.console.print(line, soft_wrap=True, markup=False)


LOG_FILE = "example.log"
MODEL_HOST = "127.0.0.1"

command = Typer(add_completion=False)


@command.command()
def example(
    *,
    once: Annotated[
        bool,
        Option(
            "--once",
            help="Show the results, stop everything and exit, with status 1 if there are no results.",
        ),
    ] = False,
    hours: Annotated[int, Option(min=1, max=168, help="Hours of history to create.")] = 72,
) -> None:
    """Run the service with an example: a credit-risk model, its traffic and its checks. Ctrl-C stops
    everything, the next run continues.
    """
    settings = load_service_settings()
    stop = build_stop_signal()
    console = Console(highlight=False)
    host = find_reachable_host(settings.host)
    service_url = f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"
    with _log_to_file(settings.data_dir) as log, open_model_listener(settings.data_dir) as listener:
        performance = ExamplePerformance(
            console=console,
            stop=stop,
            service_url=service_url,
            model_url=f"http://{MODEL_HOST}:{listener.getsockname()[1]}",
            log=log,
        )
        try:
            has_finished = _run_story(settings, stop, performance, listener, hours=hours, once=once)
        except EvenhandError:
            console.print(f"The example failed. The log is {log}.")
            raise
    console.print("Everything has stopped.")
    raise Exit(1 if once and not has_finished else 0)


def _run_story(
    settings: Settings,
    stop: threading.Event,
    performance: ExamplePerformance,
    listener: socket.socket,
    *,
    hours: int,
    once: bool,
) -> bool:
    keys = queue.SimpleQueue[str]()
    file = listener.fileno()
    model = ChildSpec(
        name="model", command=build_module_command(MODEL_SERVER_MODULE, str(file)), inherited_files=(file,)
    )
    # A list of allowed endpoints, or a service that other machines reach, would refuse loopback.
    must_allow_model = settings.exposed_on is not None or settings.allowed_endpoints
    environment = (
        {"EVENHAND_ENDPOINT_ALLOWLIST": ",".join((*settings.allowed_endpoints, MODEL_HOST))}
        if must_allow_model
        else {}
    )

    # The supervisor's children end with the thread that starts them, so that must be the main one.
    with ThreadPoolExecutor(max_workers=1) as pool:
        story = pool.submit(performance.run, keys, hours, once=once)
        story.add_done_callback(lambda _: stop.set())
        try:
            run_service(
                settings,
                stop,
                companions=[model],
                prepare=lambda database: keys.put(_create_fresh_key(database)),
                conclude=_revoke_keys,
                environment=environment,
            )
        finally:
            stop.set()
            listener.close()
    try:
        story.result()
    except ExampleStopped:
        return False
    return True


KEY_NAME = "evenhand example"
_PAGE_KEYS = 500


def _create_fresh_key(database: Database) -> str:
    # Only hashes are stored, so each run creates a new one.
    _revoke_keys(database)
    with database.transaction() as session:
        return create_key(session, role=Role.ADMIN, name=KEY_NAME)


def _revoke_keys(database: Database) -> None:
    with database.transaction() as session:
        page = page_keys(session, Paging(_PAGE_KEYS))
        while page:
            for key in page:
                if key.name == KEY_NAME and key.revoked_at is None:
                    revoke_key(session, key.id)
            page = page_keys(session, Paging(_PAGE_KEYS, page[-1].no))


@contextlib.contextmanager
def _log_to_file(folder: Path) -> Iterator[Path]:
    path = folder / LOG_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        log = path.open("ab")
    except OSError as error:
        raise SetupError(
            f"The data folder {folder} cannot be used: {error}. Set EVENHAND_DATA_DIR to another one."
        ) from error
    with contextlib.ExitStack() as stack:
        terminal = stack.enter_context(
            os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding=sys.stdout.encoding)
        )
        with log:
            for stream in (sys.stdout, sys.stderr):
                descriptor = os.dup(stream.fileno())
                stack.callback(os.close, descriptor)
                stack.callback(os.dup2, descriptor, stream.fileno())
                os.dup2(log.fileno(), stream.fileno())
        stack.enter_context(contextlib.redirect_stdout(terminal))
        yield path
