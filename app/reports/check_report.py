"""Report on one check, from stored figures."""

from collections.abc import Iterator
from dataclasses import replace

from sqlalchemy.orm import Session

from ..domain.checks import CheckRun
from ..domain.deployments import Deployment
from ..domain.group_words import GroupWords
from ..views.check_views import CheckView, ViewKind
from ..views.renaming import rename_evidence, rename_view
from ..views.viewing import check_view
from .authors import say_author
from .canonical import canonical_json, digest_of
from .closing import alerts_section, limits_section, tracing_section
from .configuration import deployment_section, monitor_section, window_section
from .document import Attachment, Document, Fact, Made, Section
from .evidence import evidence_section
from .first_page import first_page
from .headlines import Views, headline_section
from .history import history_sections
from .numbers import moment
from .second_page import second_page
from .source import ReportSource, read_check
from .trace import trace_csv
from .view_sections import ORDER, view_sections


def check_report(session: Session, deployment: Deployment, check: CheckRun, made: Made, *, has_annex: bool) -> Document:
    """Returns the report. Evidence, alerts and training data in it are the present ones."""
    source = read_check(session, deployment, check)
    span = f"{moment(check.span.start)} to {moment(check.span.end)}"
    annex = tuple(_annex_of_check(session, source, check)) if has_annex else ()
    return document_of(source, made, subtitle=f"Check {check.id} of {span}", annex=annex)


def document_of(source: ReportSource, made: Made, *, subtitle: str, annex: tuple[Section, ...]) -> Document:
    data = canonical_json(source)
    attachments = [Attachment(name="data.json", media_type="application/json", description="The data of this report", content=data)]
    if source.check is not None:
        trace = trace_csv(source.check, source.measurements)
        described = "Every figure of the check, with its formula and counts"
        attachments.append(Attachment(name="trace.csv", media_type="text/csv", description=described, content=trace))
    page = second_page(source, digest_of(data))
    return Document(
        title=f"Fairness report: {source.deployment.name}",
        subtitle=subtitle,
        made=made,
        first=first_page(source),
        second=replace(page, origin=(Fact(name="Made by", value=say_author(made)), *page.origin)),
        annex=annex,
        attachments=tuple(attachments),
    )


def sections_of_views(check: CheckRun, views: Views, words: GroupWords) -> Iterator[Section]:
    yield window_section(check)
    for kind in ORDER:
        yield from view_sections(rename_view(words, views[kind]))


def views_of(session: Session, deployment: Deployment, check: CheckRun) -> dict[ViewKind, CheckView]:
    return {kind: check_view(session, deployment, check, kind) for kind in ORDER}


def _annex_of_check(session: Session, source: ReportSource, check: CheckRun) -> Iterator[Section]:
    deployment, words = source.deployment, source.forest.words
    measured = [words.rename(one) for one in source.measurements]
    views = views_of(session, deployment, check)
    yield headline_section(check, views, measured, of="of this check")
    yield deployment_section(deployment, check.model_revision)
    yield monitor_section(source.monitor, check)
    yield from sections_of_views(check, views, words)
    yield from history_sections(session, deployment.no, source.monitor, source.span, source.alerts)
    yield evidence_section(rename_evidence(words, source.evidence))
    yield alerts_section(source.alerts, waiting=source.waiting)
    yield limits_section()
    yield tracing_section(check)
