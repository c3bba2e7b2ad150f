"""`evenhand import`."""

import json
import os
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from typer import Argument, Exit, Option, Typer, echo

from ..base import system_memory  # noqa: F401 - before PyArrow, whose own pool would take all of the limit
from ..base.apart import limit_memory
from ..base.clock import HOUR, floor_to_hour, utc_now
from ..base.errors import InvalidInput, SetupError
from ..base.strict_json import JsonObject, parse_json
from ..domain.check import CheckState
from ..domain.record_times import LogKind, TimeRule, parse_moment
from ..intake.imports.clarify_files import ClarifyChoices, ClarifyConfig, list_violations
from ..intake.imports.flat_tables import ImportLayout, find_layout, is_bento_schema, read_bento_schema
from ..intake.imports.input_file import ColumnNames, ImportSubject, InputFile
from ..intake.imports.month_files import read_head
from ..intake.imports.run_import import CheckpointFile, ImportReport, describe_subject, run_import
from .import_service import ImportService, open_client
from .library.metrics_files import Encoding, Text, TimeFormat

command = Typer(
    no_args_is_help=True, add_completion=False, help="Send files of records to a service, each record once."
)

STATE_FOLDER = (
    Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "evenhand" / "imports"
)

SOME_REJECTED_STATUS = 3
"""Exit status if some rows are stored and others were rejected; it is 1 if none is stored."""

POLL_SECONDS = 1.0

MAX_SHOWN_ROWS = 10
"""Of reasons, of warnings, and of rejected rows."""

Files = Annotated[
    list[Path],
    Argument(metavar="FILE…", help="Files of one layout.", exists=True, dir_okay=False, readable=True),
]
Url = Annotated[str, Option(envvar="EVENHAND_URL", help="Address of the service.")]
Key = Annotated[str, Option(envvar="EVENHAND_KEY", help="API key with the role manage.", show_default=False)]
DeploymentId = Annotated[
    str, Option("--deployment", envvar="EVENHAND_DEPLOYMENT", help="Id of the deployment.")
]
LayoutOption = Annotated[
    ImportLayout | None, Option(help="Layout of the files; without it, it is found from the first file.")
]
At = Annotated[Text, Option(help="Time of records that state none; UTC unless it says otherwise.")]
Offset = Annotated[Text, Option(help="Offset from UTC of times that state none, such as +00:00.")]
IdColumn = Annotated[
    Text, Option(help="Column of the ids. Without ids, the file's content and the line make them.")
]
TimeColumn = Annotated[Text, Option(help="Column of the times.")]
Rejections = Annotated[
    Path | None, Option(help="File to write every rejected row to, as JSON lines.", dir_okay=False)
]
State = Annotated[
    Path, Option(help="Folder of the notes that a stopped import continues from.", show_default=False)
]


@command.command()
def payload(
    files: Files,
    *,
    deployment: DeploymentId,
    key: Key,
    url: Url = "http://127.0.0.1:8000",
    layout: LayoutOption = None,
    at: At = None,
    utc_offset: Offset = None,
    time_format: TimeFormat = None,
    id_column: IdColumn = None,
    time_column: TimeColumn = None,
    prediction_column: Annotated[Text, Option(help="Column of the predictions.")] = None,
    probability_column: Annotated[Text, Option(help="Column of the probabilities.")] = None,
    label_column: Annotated[Text, Option(help="Column of the decoded predictions.")] = None,
    register: Annotated[
        bool,
        Option(
            help="Register the deployment from an export or BentoML's schema file, if it is not there yet."
        ),
    ] = False,
    problem_type: Annotated[
        str, Option(help="Of a deployment that is registered: binary, multiclass or regression.")
    ] = "binary",
    encoding: Encoding = "utf-8",
    rejections: Rejections = None,
    state: State = STATE_FOLDER,
) -> None:
    """Import records of requests and answers. Each counts for the hour of its own time. Status 3 if some
    rows are rejected.
    """
    with open_client(url, key) as client:
        service = ImportService(client, deployment)
        inputs = [InputFile.at(path, encoding) for path in files]
        schemas = [file for file in inputs if not file.is_parquet and is_bento_schema(file)]
        bodies = {
            file.name: read_bento_schema(file).registration(deployment, problem_type) for file in schemas
        }
        data = [file for file in inputs if file not in schemas]
        for file in data:
            head = read_head(file)
            if head is not None:
                bodies[file.name] = head.registration(deployment)
        for name, body in bodies.items():
            if not service.is_registered():
                if not register:
                    raise SetupError(
                        f"There is no deployment {deployment}. Register it first, or import with --register "
                        f"to take it from {name}."
                    )
                service.register(body)
                echo(f"Registered {deployment} from {name}.")
        columns = ColumnNames(
            id=id_column,
            time=time_column,
            prediction=prediction_column,
            probability=probability_column,
            label=label_column,
        )
        subject = _build_subject(service, columns, at, utc_offset, time_format)
        exit_if_rejected(import_into(service, data, layout, subject, state, rejections))


@command.command()
def feedback(
    files: Files,
    *,
    deployment: DeploymentId,
    key: Key,
    url: Url = "http://127.0.0.1:8000",
    layout: LayoutOption = None,
    at: At = None,
    utc_offset: Offset = None,
    time_format: TimeFormat = None,
    id_column: IdColumn = None,
    time_column: TimeColumn = None,
    label_column: Annotated[Text, Option(help="Column of the ground-truth labels.")] = None,
    encoding: Encoding = "utf-8",
    rejections: Rejections = None,
    state: State = STATE_FOLDER,
) -> None:
    """Import ground-truth labels, by the ids of their records or with the features. Status 3 if some rows
    are rejected.
    """
    with open_client(url, key) as client:
        service = ImportService(client, deployment, LogKind.FEEDBACK)
        columns = ColumnNames(id=id_column, time=time_column, label=label_column)
        subject = _build_subject(service, columns, at, utc_offset, time_format)
        inputs = [InputFile.at(path, encoding) for path in files]
        exit_if_rejected(import_into(service, inputs, layout, subject, state, rejections))


@command.command()
def corrections(
    file: Annotated[Path, Argument(metavar="FILE", exists=True, dir_okay=False)],
    *,
    deployment: DeploymentId,
    key: Key,
    url: Url = "http://127.0.0.1:8000",
    encoding: Encoding = "utf-8",
) -> None:
    """Correct labels and predictions: record_id, what, old, new, reason, correction_id. Status 3 if some
    rows are rejected.
    """
    with open_client(url, key) as client:
        receipt = ImportService(client, deployment).send(
            file.read_bytes(), "corrections", f"text/csv; charset={encoding}"
        )
    echo(
        f"{receipt.accepted:,} corrected, {receipt.duplicate:,} corrected before, {receipt.rejected:,} "
        "rejected."
    )
    for rejection in receipt.rejections:
        echo(f"{file} row {rejection.index + 1:,}, {rejection.field}: {rejection.reason}")
    for conflict in receipt.conflicts:
        echo(f"{file} row {conflict.index + 1:,}: {conflict.reason}")
    if receipt.rejected:
        raise Exit(SOME_REJECTED_STATUS if receipt.accepted or receipt.duplicate else 1)


@command.command()
def sagemaker(
    *,
    config: Annotated[
        Path,
        Option(help="The bias monitor's analysis_config.json.", exists=True, dir_okay=False, readable=True),
    ],
    captures: Annotated[
        list[Path],
        Option(help="Data capture: a file, or a folder of files. May be given again.", exists=True),
    ],
    deployment: DeploymentId,
    key: Key,
    url: Url = "http://127.0.0.1:8000",
    ground_truth: Annotated[
        list[Path] | None, Option(help="Ground truth, in the same way.", exists=True)
    ] = None,
    constraints: Annotated[
        Path | None, Option(help="The baseline, whose values become the limits.", exists=True)
    ] = None,
    threshold: Annotated[
        list[str] | None, Option(help="Facet of a numeric column whose value is a threshold.")
    ] = None,
    category: Annotated[
        list[str] | None, Option(help="Facet of a numeric column whose value is a category.")
    ] = None,
    unfavourable: Annotated[
        list[str] | None, Option(help="Label that is not favourable, as JSON or text.")
    ] = None,
    probability_threshold: Annotated[
        float | None,
        Option(
            help="The job's ProbabilityThresholdAttribute; else the configuration's probability_threshold, "
            "or 0.5."
        ),
    ] = None,
    violations: Annotated[
        Path | None, Option(help="Check what was imported, and write constraint_violations.json here.")
    ] = None,
    at: At = None,
    encoding: Encoding = "utf-8",
    rejections: Rejections = None,
    state: State = STATE_FOLDER,
) -> None:
    """Take over a bias monitor of SageMaker Model Monitor: its configuration, data capture and ground
    truth.
    """
    analysis = read_json(config)
    choices = ClarifyChoices(
        thresholds=frozenset(threshold or ()),
        categories=frozenset(category or ()),
        unfavourable=tuple(parse_scalar(text) for text in unfavourable or ()),
        score_threshold=probability_threshold,
    )
    with open_client(url, key) as client:
        service = ImportService(client, deployment)
        target = service.read_deployment()
        baseline = read_json(constraints) if constraints else None
        monitor = ClarifyConfig(analysis).translate(
            target.schema, target.outputs, target.problem_type, choices, baseline
        )
        service.ask("PUT", "/fairness-monitor", monitor.body)
        echo(f"{deployment} has the fairness monitor of {config.name}.")
        for note in monitor.notes:
            echo(f"  {note}")
        subject = replace(_build_subject(service, ColumnNames(), at), score_threshold=monitor.score_threshold)
        report = import_into(
            service,
            list_files("captures", captures, encoding),
            ImportLayout.SAGEMAKER,
            subject,
            state,
            rejections,
        )
        reports = [report]
        if ground_truth:
            labels = ImportService(client, deployment, LogKind.FEEDBACK)
            files = list_files("ground-truth", ground_truth, encoding)
            subject = _build_subject(labels, ColumnNames(), at)
            # With one file of rejected rows for two imports, a stopped one would cut the other's off.
            reports.append(import_into(labels, files, ImportLayout.SAGEMAKER, subject, state, None))
        if violations and report.earliest and report.latest:
            checks = check_span(service, report.earliest, report.latest)
            violations.write_text(json.dumps(list_violations(analysis, checks), indent=4) + "\n")
            echo(f"Wrote {violations}.")
        exit_if_rejected(*reports)


def check_span(service: ImportService, earliest: str, latest: str) -> list[JsonObject]:
    """Raises SetupError if the check fails."""
    end = floor_to_hour(datetime.fromisoformat(latest)) + HOUR
    span = {
        "from": floor_to_hour(datetime.fromisoformat(earliest)).isoformat(),
        "to": min(end, utc_now()).isoformat(),
    }
    check = service.ask("POST", "/checks", span)
    while check["state"] in (CheckState.QUEUED, CheckState.RUNNING):
        time.sleep(POLL_SECONDS)
        check = service.ask("GET", f"/checks/{check['id']}")
    if check["state"] != CheckState.SUCCEEDED:
        raise SetupError(
            f"The check of {span['from']} to {span['to']} ended {check['state']}: "
            f"{check.get('reason') or 'see its page'}."
        )
    measurements = list[JsonObject]()
    query: dict[str, str] | None = None
    while True:
        page = service.ask("GET", f"/checks/{check['id']}/measurements", query=query)
        measurements += page["measurements"]
        if page["next_cursor"] is None:
            return measurements
        query = {"cursor": page["next_cursor"]}


def read_json(path: Path) -> Any:  # noqa: ANN401 - any JSON
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise InvalidInput(str(path), f"is not JSON ({str(error)[:100]})") from error


def parse_scalar(text: str) -> Any:  # noqa: ANN401 - any scalar
    value = parse_json(text, text)
    return value if isinstance(value, str | int | float | bool) else text


def list_files(option: str, paths: Sequence[Path], encoding: str) -> list[InputFile]:
    """Of a folder, those that end in .jsonl. Raises InvalidInput if there is none."""
    files = [
        InputFile.at(file, encoding)
        for path in paths
        for file in (sorted(path.rglob("*.jsonl")) if path.is_dir() else [path])
    ]
    if not files:
        raise InvalidInput(option, "has no file that ends in .jsonl")
    return files


def import_into(
    service: ImportService,
    files: Sequence[InputFile],
    chosen_layout: ImportLayout | None,
    subject: ImportSubject,
    state: Path,
    rejections: Path | None,
) -> ImportReport:
    """Imports files that a stopped import did not finish, and prints the result.

    Raises SetupError if every row is rejected.
    """
    layout = find_layout(files, chosen_layout, subject.kind)
    identity = {
        "files": [file.digest for file in files],
        "layout": layout.value,
        "service": service.identity,
        **describe_subject(subject),
    }
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with (
        closing(CheckpointFile(state, identity, rejections=rejections)) as checkpoint,
        Progress(*columns, console=console, disable=not console.is_terminal) as bar,
        limit_memory(),
    ):
        task = bar.add_task("Importing", total=sum(file.size for file in files))

        def show_progress(report: ImportReport) -> None:
            bar.update(
                task, completed=sum(file.bytes_read for file in files), description=f"{report.read:,} rows"
            )

        report = run_import(files, layout, subject, service, checkpoint, notice=show_progress)
    print_import(report, rejections)
    if report.read and report.rejected == report.read:
        # An error, so that a script that imports every night notices it.
        raise SetupError("Every row was rejected for the reasons above, so nothing was stored.")
    return report


def exit_if_rejected(*reports: ImportReport) -> None:
    if any(report.rejected for report in reports):
        raise Exit(SOME_REJECTED_STATUS)


def parse_offset(text: str | None) -> tzinfo | None:
    try:
        return None if text is None else datetime.strptime(text, "%z").tzinfo
    except ValueError as error:
        raise InvalidInput("utc-offset", f"must be an offset such as +01:00, found {text!r:.50}") from error


def _build_subject(
    service: ImportService,
    columns: ColumnNames,
    at: str | None,
    offset: str | None = None,
    time_format: str | None = None,
) -> ImportSubject:
    target = service.read_deployment()
    return ImportSubject(
        kind=service.kind,
        schema=target.schema,
        outputs=target.outputs,
        lists_texts=target.lists_texts,
        columns=columns,
        times=replace(TimeRule.at(utc_now(), target.earliest), form=time_format, zone=parse_offset(offset)),
        default_time=None if at is None else parse_moment("at", at),
        endpoint=target.endpoint,
    )


def print_import(report: ImportReport, rejections: Path | None) -> None:
    echo(
        f"{report.read:,} rows: {report.accepted:,} stored, {report.duplicate:,} stored before, "
        f"{report.rejected:,} rejected."
    )
    if report.rounded_probabilities:
        echo(
            f"Of {report.rounded_probabilities:,}, the probability lies a hair outside [0, 1] and counts as "
            "0 or 1."
        )
    for reason, rows in report.reasons.most_common(MAX_SHOWN_ROWS):
        echo(f"  {rows:,} × {reason}")
    for warning, rows in report.warnings.most_common(MAX_SHOWN_ROWS):
        echo(f"Warning: {rows:,} × {warning}")
    for row in report.rejections[:MAX_SHOWN_ROWS]:
        echo(f"{row.file} line {row.line}, {row.field}: {row.reason}")
    if report.rejected > MAX_SHOWN_ROWS:
        note = (
            "Import with --rejections FILE to get all of them."
            if rejections is None
            else f"All of them are in {rejections}."
        )
        echo(f"… {note}")
