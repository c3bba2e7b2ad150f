"""The section about evidence over time in both reports."""

from datetime import UTC, datetime

import pytest
from syrupy.assertion import SnapshotAssertion

from app.database.engine import Database, arrow_reader
from app.deployments.monitor.queries import delete_monitor
from app.domain.check import Span, Trigger
from app.reports.check_report import make_document
from app.reports.document import Document, Paragraph, ReportStamp, ReportTable, Section
from app.reports.report_source import read_source
from tests.builders.evidence_worlds import START, log, update, watched, world
from tests.builders.page_words import says
from tests.scenes import HOUR

MADE = ReportStamp(at=datetime(2026, 7, 1, tzinfo=UTC), by="test")


def section_of(document: Document) -> Section:
    """The section about evidence, of which there is one."""
    (found,) = [section for section in document.annex if section.title == "Evidence over time"]
    return found


@pytest.mark.thorough
def test_both_reports_have_the_state_of_every_figure(database: Database, snapshot: SnapshotAssertion) -> None:
    stage = watched(database, metrics=("disparate_impact",), min_records=10)
    log(stage, world([1.0] * 30 + [0.3] * 15, seed=1, records=120), first_no=1)
    update(stage, START + 45 * HOUR)
    result = stage.check(START + 44 * HOUR, trigger=Trigger.SCHEDULE)
    with database.transaction() as session, arrow_reader(database) as reader:
        documents = [
            make_document(session, read_source(session, reader, stage.deployment, of, now=MADE.at), MADE, has_annex=True)
            for of in (result.run, Span(start=START, end=START + 45 * HOUR))
        ]

    said = []
    for document in documents:
        paragraph, table = section_of(document).blocks
        assert isinstance(paragraph, Paragraph)
        assert isinstance(table, ReportTable)
        assert says(paragraph.text, "2 figures", "1 of them without", "1 unfair", "1 not computable")
        figure, state, _, kind, sentence = table.rows[0]
        assert says(figure, "female", "sex")
        assert (state, kind) == ("Unfair", "since the onset")
        assert says(sentence, "less often than", "between 0.8 and 1.25")
        assert document.first.since == (paragraph.text, f"{figure}: {sentence}", *document.first.since[2:])
        said.append((paragraph.text, table.rows))
    assert said[0] == said[1] == snapshot


def test_without_a_monitor_or_a_counted_hour_the_reports_say_so(database: Database, snapshot: SnapshotAssertion) -> None:
    stage = watched(database)
    span = Span(start=START, end=START + HOUR)
    with database.transaction() as session, arrow_reader(database) as reader:
        before = section_of(make_document(session, read_source(session, reader, stage.deployment, span, now=MADE.at), MADE, has_annex=True))
        delete_monitor(session, stage.deployment.no)
        without = section_of(
            make_document(session, read_source(session, reader, stage.deployment, span, now=MADE.at), MADE, has_annex=True)
        )

    first, second = before.blocks[0], without.blocks[0]
    assert isinstance(first, Paragraph)
    assert isinstance(second, Paragraph)
    assert "No hour has been counted yet" in first.text
    assert second.text == snapshot
