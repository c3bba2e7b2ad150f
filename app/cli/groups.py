"""`evenhand groups`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..evidence.nulls import UnfairSide
from ..frames.groups import find_groups
from .file_options import FAVOURABLE, UNFAVOURABLE, Texts, open_console, parse_values, refuse_errors
from .groups_report import render_groups, request_watching
from .metrics_files import read

command = typer.Typer(add_completion=False)


@command.command()
def groups(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, readable=True, help="A CSV file with a header.")],
    feature: Annotated[list[str], typer.Option(help="Column whose values may describe a subgroup. Repeatable, up to 8 times.")],
    prediction: Annotated[str | None, typer.Option(help="Column of the model's predictions.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of the ground-truth labels, used where there are no predictions.")] = None,
    strata: Annotated[str | None, typer.Option(help="Column within each of whose values records are compared.")] = None,
    favourable: Annotated[Texts, typer.Option(help=FAVOURABLE)] = None,
    unfavourable: Annotated[Texts, typer.Option(help=UNFAVOURABLE)] = None,
    person: Annotated[str | None, typer.Option(help="Column of person ids. Only the first record of each person counts.")] = None,
    time: Annotated[
        str | None,
        typer.Option(help="Column of the times: they say which record of a person is the first, else the file does."),
    ] = None,
    direction: Annotated[
        UnfairSide,
        typer.Option(help="below: the subgroup that gets the favourable outcome too rarely. above: more often."),
    ] = UnfairSide.BELOW,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random starts and tables.")] = 0,
    watch: Annotated[
        str | None, typer.Option(metavar="DEPLOYMENT", help="Watch the group that is found in this deployment from now on.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the watched group; by default its columns.")] = None,
    key: Annotated[str, typer.Option(envvar="EVENHAND_KEY", help="API key with the role manage, for --watch.", show_default=False)] = "",
    url: Annotated[str, typer.Option(envvar="EVENHAND_URL", help="Address of the service, for --watch.")] = "http://127.0.0.1:8000",
) -> None:
    """Look for the subgroup that nobody listed, at a disadvantage or favoured, and print it or watch it from now on."""
    with refuse_errors():
        columns: dict[str, Sequence[str | None]] = {
            "time": [time],
            "features": feature,
            "prediction": [prediction],
            "label": [label],
            "strata": [strata],
            "person": [person],
        }
        frame = read(file, columns)
        found = find_groups(
            frame,
            features=feature,
            time=time,
            prediction=prediction,
            label=label,
            strata=strata,
            person=person,
            favourable=parse_values(frame, prediction or label, favourable or ["1"]),
            unfavourable=parse_values(frame, prediction or label, unfavourable or []) or None,
            direction=direction,
            seed=seed,
        )
    typer.echo(render_groups(found, file.name, open_console()))
    if watch is not None and found.group is not None:
        from .import_service import ImportService, open_client  # noqa: PLC0415 - the command asks no service otherwise

        with open_client(url, key) as client:
            monitor = ImportService(client, watch).ask("POST", "/fairness-monitor/found-groups", request_watching(found, name))
        watched_as = next(
            attribute["feature"]
            for attribute in monitor["attributes"]
            if attribute["rule"] and attribute["monitored"] == [found.group.rule.label]
        )
        typer.echo(f"\nWatched from now on: {watched_as}, in version {monitor['version']} of the monitor of {watch}.")
