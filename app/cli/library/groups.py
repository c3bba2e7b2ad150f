"""`evenhand groups`."""

from typing import Annotated, Any

import msgspec
from rich.console import Console
from rich.markup import escape
from typer import Option, Typer, echo

from ...library.unlisted_groups import GroupSearch, find_groups
from ...statistics.e_values.nulls import UnfairSide
from ...statistics.scan.scan_results import SearchResult, say_search
from .evidence_report import fill
from .metrics_files import (
    Earliest,
    Encoding,
    Favourable,
    MeasuredFile,
    MissingTexts,
    Numbers,
    PersonColumn,
    PredictionColumn,
    Text,
    TimeFormat,
    Unfavourable,
    name_twins,
    open_console,
    print_notes,
    read_measured,
    refuse_errors,
)

command = Typer(add_completion=False)


@command.command()
def groups(
    *,
    file: MeasuredFile,
    feature: Annotated[
        list[str], Option(help="Column whose values may describe a subgroup. Repeatable, up to 8 times.")
    ],
    prediction: PredictionColumn = None,
    label: Annotated[
        Text, Option(help="Column of the ground-truth labels, used where there are no predictions.")
    ] = None,
    strata: Annotated[Text, Option(help="Column within each of whose values records are compared.")] = None,
    favourable: Favourable = None,
    unfavourable: Unfavourable = None,
    number: Numbers = None,
    missing: MissingTexts = None,
    encoding: Encoding = "utf-8",
    person: PersonColumn = None,
    time: Annotated[
        Text,
        Option(
            help="Column of the times: they say which record of a person is the first, else the file does."
        ),
    ] = None,
    time_format: TimeFormat = None,
    earliest: Earliest = None,
    direction: Annotated[
        UnfairSide,
        Option(help="below: the subgroup that gets the favourable outcome too rarely. above: more often."),
    ] = UnfairSide.BELOW,
    seed: Annotated[int, Option(min=0, help="Seed of the random starts and tables.")] = 0,
    watch: Annotated[
        Text,
        Option(metavar="DEPLOYMENT", help="Watch the group that is found in this deployment from now on."),
    ] = None,
    name: Annotated[Text, Option(help="Name of the watched group; by default its columns.")] = None,
    key: Annotated[
        str,
        Option(envvar="EVENHAND_KEY", help="API key with the role manage, for --watch.", show_default=False),
    ] = "",
    url: Annotated[
        str, Option(envvar="EVENHAND_URL", help="Address of the service, for --watch.")
    ] = "http://127.0.0.1:8000",
) -> None:
    """Look for the subgroup that nobody listed, at a disadvantage or favoured, and print it or watch it
    from now on.
    """
    with refuse_errors():
        records = read_measured(
            file,
            {"time": time, "prediction": prediction, "label": label, "strata": strata, "person": person},
            favourable=favourable,
            unfavourable=unfavourable,
            missing=missing,
            encoding=encoding,
            numbers=number or (),
            features=feature,
        )
        search = find_groups(
            records.frame,
            features=feature,
            direction=direction,
            seed=seed,
            time_format=time_format,
            earliest=earliest,
            **records.arguments,
        )
    print_notes([*records.notes, *name_twins(records.frame, feature)])
    result = search.result
    echo(render_groups(search, file.name, open_console()))
    if watch is not None and result.group:
        from ..import_service import ImportService, open_client  # noqa: PLC0415 - the command asks no service otherwise

        with open_client(url, key) as client:
            monitor = ImportService(client, watch).ask(
                "POST", "/fairness-monitor/found-groups", request_watching(result, name)
            )
        watched_as = next(
            attribute["feature"]
            for attribute in monitor["attributes"]
            if attribute["rule"] and attribute["monitored"] == [result.group.rule.label]
        )
        echo(
            f"\nWatched from now on: {watched_as}, in version {monitor['version']} of the monitor of {watch}."
        )


def render_groups(search: GroupSearch, name: str, console: Console) -> str:
    result = search.result
    with console.capture() as capture:
        for line in (f"{name}: {search.records.text}", say_search(result)):
            console.print(escape(fill(line, console.width)), soft_wrap=True)
        if result.group:
            console.print()
            watching = (
                "To watch the group from now on: --watch DEPLOYMENT, or POST "
                "…/fairness-monitor/found-groups with"
            )
            console.print(escape(fill(watching, console.width)), soft_wrap=True)
    body = msgspec.json.encode(request_watching(result)).decode() if result.group else ""
    return f"{capture.get()}{body}".rstrip()


def request_watching(result: SearchResult, name: str | None = None) -> dict[str, Any]:
    group = result.group
    assert group is not None, "the search found a group"  # noqa: S101 - for the caller to see
    search = {"rule": msgspec.to_builtins(group.rule), "subsets": result.subsets, "p_value": result.p_value}
    return {"search": search} if name is None else {"search": search, "name": name}
