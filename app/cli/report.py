"""`evenhand report`: the sheets that a rule on selections asks for, from a file, without a service or a database."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..errors import InvalidInput
from ..frames.selection_report import report_selections
from ..impact.local_law_144 import LEAST_SHARE
from ..impact.presets import PresetName
from .file_options import FAVOURABLE, UNFAVOURABLE, Texts, parse_values, refuse_errors
from .metrics_files import check_target, read, write_bytes
from .report_formats import Format, render_report

command = typer.Typer(add_completion=False)


@command.command()
def report(  # noqa: PLR0913 - typer's way: one parameter for each option
    *,
    file: Annotated[
        Path, typer.Option("--from-csv", metavar="FILE", exists=True, dir_okay=False, readable=True, help="A CSV file with a header.")
    ],
    attribute: Annotated[list[str], typer.Option(help="Column of categories. Of two or three, their intersection has a table, too.")],
    preset: Annotated[PresetName, typer.Option(help="Rule whose sheets are made.")],
    prediction: Annotated[str | None, typer.Option(help="Column of the decisions of a tool that selects.")] = None,
    score: Annotated[str | None, typer.Option(help="Column of the scores of a tool that scores; above the median is selected.")] = None,
    favourable: Annotated[Texts, typer.Option(help=FAVOURABLE)] = None,
    unfavourable: Annotated[Texts, typer.Option(help=UNFAVOURABLE)] = None,
    least_share: Annotated[
        float, typer.Option(help="Categories with a smaller share of the people are left out of the ratios of ll144.")
    ] = LEAST_SHARE,
    form: Annotated[Format, typer.Option("--format", help="Format of the report.")] = Format.HTML,
    output: Annotated[Path | None, typer.Option(help="File to write to; by default the report is printed.")] = None,
) -> None:
    """Make the tables that a rule on selections asks for. Empty cells of an attribute are an unknown category. Not legal advice."""
    with refuse_errors():
        if output is None and form is Format.PDF and sys.stdout.isatty():
            raise InvalidInput.of("output", "must name a file for a PDF, which a terminal cannot show")
        if output is not None:
            check_target(output, file)
        columns: dict[str, Sequence[str | None]] = {"attribute": attribute, "prediction": [prediction], "score": [score]}
        frame = read(file, columns, texts=attribute)
        found = report_selections(
            frame,
            preset=preset,
            attribute=attribute,
            prediction=prediction,
            score=score,
            favourable=parse_values(frame, prediction, favourable or ["1"]),
            unfavourable=parse_values(frame, prediction, unfavourable or []) or None,
            least_share=least_share,
        )
        content = render_report(found, file.name, form)
        if output is not None:
            write_bytes(content, output)
            return
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()
