"""`evenhand groups`: looks in a log file for subgroups that nobody listed, at a disadvantage or favoured."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..evidence.nulls import UnfairSide
from ..frames.groups import SCAN_HOURS, find_groups
from .file_options import FAVOURABLE, UNFAVOURABLE, Texts, open_console, parse_values, refuse_errors
from .groups_report import render_groups
from .metrics_files import read

command = typer.Typer(add_completion=False)


@command.command()
def groups(
    *,
    file: Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, readable=True, help="A CSV file with a header.")],
    time: Annotated[str, typer.Option(help="Column of the times: ISO 8601 (UTC unless it says otherwise), or numbers since 1970.")],
    feature: Annotated[list[str], typer.Option(help="Column whose values may describe a subgroup. Repeatable, up to 8 times.")],
    prediction: Annotated[str | None, typer.Option(help="Column of the model's predictions.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of the ground-truth labels, used where there are no predictions.")] = None,
    strata: Annotated[str | None, typer.Option(help="Column within each of whose values records are compared.")] = None,
    favourable: Annotated[Texts, typer.Option(help=FAVOURABLE)] = None,
    unfavourable: Annotated[Texts, typer.Option(help=UNFAVOURABLE)] = None,
    person: Annotated[str | None, typer.Option(help="Column of person ids. Only the first record of each person counts.")] = None,
    limit: Annotated[
        float | None,
        typer.Option(help="Limit of the ratio of favourable rates that later hours must refute. Default 0.8; above 1.25."),
    ] = None,
    direction: Annotated[
        UnfairSide, typer.Option(help="below: subgroups that get the favourable outcome too rarely. above: those that get it more often.")
    ] = UnfairSide.BELOW,
    scan_hours: Annotated[int, typer.Option(min=1, help="Hours between two scans.")] = SCAN_HOURS,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random starts and tables.")] = 0,
) -> None:
    """Look for subgroups that nobody listed, at a disadvantage or favoured, and confirm them on later hours."""
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
            limit=limit,
            direction=direction,
            scan_hours=scan_hours,
            seed=seed,
        )
    typer.echo(render_groups(found, file.name, open_console()))
