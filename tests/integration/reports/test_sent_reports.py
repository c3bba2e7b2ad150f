"""Reports that people send: kept, mailed once with the PDF, bounded, and by people who may manage alone."""

import re
import uuid
from datetime import timedelta
from unittest.mock import patch

import psycopg
import pytest
from sqlalchemy import text

from app.access.principals import Role
from app.access.secret_box import SecretBox
from app.alerts.channels import notifier
from app.alerts.channels.channel import ChannelContent, ChannelKind, create_channel
from app.alerts.channels.notifier import Notifier, Sender
from app.base.settings import Settings
from app.calls.egress_policy import EgressPolicy
from app.domain.check import Span
from app.evidence.queries.hour_counts import count_logged
from app.reports.kept import queries
from app.reports.regulator import regulator_report as making
from app.reports.regulator.regulator_report import make_next_report
from tests.builders.mail_servers import Inbox, mail_server
from tests.builders.page_words import says, words
from tests.integration.reports.reported import Reported
from tests.scenes import HOUR, NOON, PlainSealer

ADDRESS = "/v1/deployments/a-model/kept-reports"
BOX = SecretBox("a key of these tests")
RANGE = {"kind": "period", "since": NOON.isoformat(), "until": (NOON + 5 * HOUR).isoformat(), "channels": ["risk"]}
SENDER = "evenhand@example.com"


@pytest.fixture
def mailed(reported: Reported) -> Reported:
    """The deployment, with a channel of e-mail."""
    with reported.stage.database.transaction() as session:
        create_channel(session, "risk", ChannelContent(name="Risk", kind=ChannelKind.EMAIL, to=("risk@example.com",)), BOX)
    return reported


def make(reported: Reported) -> bool:
    return make_next_report(reported.stage.database, PlainSealer(), token=str(uuid.uuid4()))


def send_all(reported: Reported, place: str, *, lease: timedelta = timedelta(minutes=1)) -> None:
    settings = Settings(smtp_url=f"smtp://{place}", smtp_sender=SENDER)  # type: ignore[arg-type]
    sender = Sender(settings, BOX, lambda: EgressPolicy.of(()))
    while Notifier(reported.stage.database, sender.send, lease=lease).send_next():
        pass


def count_notifications(reported: Reported) -> int:
    with reported.stage.database.transaction() as session:
        return int(session.scalar(text("SELECT count(*) FROM notifications WHERE event = 'report'")))


@pytest.mark.parametrize("kind", ["period", pytest.param("check", marks=pytest.mark.thorough)])
def test_a_report_that_is_sent_arrives_once_with_its_pdf_and_is_kept(mailed: Reported, kind: str) -> None:
    client = mailed.service.client
    body = RANGE if kind == "period" else {"kind": "check", "check_id": mailed.runs[2].id, "channels": ["risk"]}
    asked = client.post(ADDRESS, json=body)
    assert asked.status_code == 202, asked.text
    assert (asked.json()["kind"], asked.json()["channels"]) == (kind, ["risk"])
    assert make(mailed)
    inbox = Inbox()
    with mail_server(inbox) as place:
        send_all(mailed, place)
        send_all(mailed, place)

    (mail,) = inbox.mails
    words, pdf = (part for part in mail.walk() if not part.is_multipart())
    text_of_mail = bytes(words.get_payload(decode=True)).decode()
    assert says(text_of_mail, "report", "is ready")
    assert says(text_of_mail, "Sent by", "tests")
    assert "/deployments/a-model/reports#kept" in text_of_mail
    assert pdf.get_content_type() == "application/pdf"
    kept = client.get(f"{asked.headers['Location']}/file.pdf").content
    assert pdf.get_payload(decode=True) == kept
    assert client.get(f"{asked.headers['Location']}/file.csv").status_code == 409
    assert re.search(r"Risk: sent at \d{4}-", read_reports(mailed))


def read_reports(mailed: Reported) -> str:
    return words(mailed.service.client.get("/deployments/a-model/reports", headers={"Accept": "text/html"}).text)


def test_the_page_says_of_each_channel_whether_a_report_was_sent(mailed: Reported) -> None:
    """Under the channel's name: waiting from the click on, then sent, not sent, or no longer known."""
    mailed.service.client.post(ADDRESS, json=RANGE).raise_for_status()
    seen = [read_reports(mailed)]
    assert make(mailed)
    seen.append(read_reports(mailed))
    run(mailed, "UPDATE notifications SET state = 'given_up', claimable_at = NULL, last_error = 'Nobody is there.'")
    seen.append(read_reports(mailed))
    of_reader = mailed.service.client.get(
        "/deployments/a-model/reports", headers=mailed.service.as_(Role.READ) | {"Accept": "text/html"}
    ).text
    run(mailed, "DELETE FROM notifications")
    seen.append(read_reports(mailed))

    states = ["waiting to be sent", "not sent: Nobody is there.", "no longer known whether it was sent"]
    said = [[state for state in states if f"Risk: {state}" in page] for page in seen]
    assert said == [[states[place]] for place in (0, 0, 1, 2)]
    assert "Nobody is there." not in of_reader


def test_each_card_says_which_records_its_report_is_about(mailed: Reported) -> None:
    client = mailed.service.client
    check = mailed.checks[2].run
    choice = {"from": NOON.strftime("%Y-%m-%dT%H:%M"), "to": (NOON + 5 * HOUR).strftime("%Y-%m-%dT%H:%M"), "zone": "UTC"}
    page = client.get("/deployments/a-model/reports", params=choice | {"check": check.id}, headers={"Accept": "text/html"}).text
    cards = {key: words(text) for key, text in re.findall(r'<h3 id="(of-\w+)">.*?</h3>\s*<p class="hint">(.*?)</p>', page, re.DOTALL)}

    assert check.window is not None
    start, end = (f"{at:%Y-%m-%d %H:%M} UTC" for at in (check.span.start, check.span.end))
    read = check.window["records"] + check.window.get("additional_records", 0)
    assert says(cards["of-check"], start, end, f"{read:,} records")
    with mailed.stage.database.transaction() as session:
        logged = count_logged(session, mailed.stage.deployment.no, Span(start=NOON, end=NOON + 5 * HOUR))
    start, end = (f"{at:%Y-%m-%d %H:%M} UTC" for at in (NOON, NOON + 5 * HOUR))
    assert says(cards["of-range"], start, end, f"{logged:,} records")


@pytest.mark.thorough
def test_a_crash_at_any_point_neither_loses_nor_doubles_the_message(mailed: Reported) -> None:
    mailed.service.client.post(ADDRESS, json=RANGE).raise_for_status()
    for step in ("keep_report", "announce_report"):
        with patch.object(making, step, side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
            make(mailed)
        assert count_notifications(mailed) == 0
        run(mailed, "UPDATE kept_reports SET claimable_at = now()")
    assert make(mailed)
    assert not make(mailed)
    assert count_notifications(mailed) == 1

    inbox = Inbox()
    with mail_server(inbox) as place:
        with patch.object(notifier, "record_sent", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
            send_all(mailed, place)
        send_all(mailed, place)
        assert len(inbox.mails) == 1
        # Nobody knows whether the mail arrived: it comes again with the same id, by which receivers leave it out.
        run(mailed, "UPDATE notifications SET claimable_at = now() WHERE sent_at IS NULL")
        send_all(mailed, place)
        send_all(mailed, place)
    assert len(inbox.mails) == 2
    assert len({mail["Message-ID"] for mail in inbox.mails}) == 1


def test_who_may_only_read_sends_nothing_and_a_link_needs_a_log_in(mailed: Reported) -> None:
    client = mailed.service.client
    assert client.post(ADDRESS, json=RANGE, headers=mailed.service.as_(Role.READ)).status_code == 403
    page = client.get("/deployments/a-model/reports", headers=mailed.service.as_(Role.READ) | {"Accept": "text/html"}).text
    assert "data-copy-link" in page
    assert "kept-reports" not in page
    stranger = mailed.service.new_client()
    assert stranger.get("/deployments/a-model/reports", follow_redirects=False).status_code in (303, 401)
    assert stranger.get("/v1/deployments/a-model/report.pdf").status_code == 401
    assert count_notifications(mailed) == 0


def test_a_report_goes_only_to_channels_that_are_set_up(mailed: Reported, subtests: pytest.Subtests) -> None:
    for change, named in (
        ({"channels": ["risk@example.com"]}, "channels[0]"),
        ({"channels": ["nobody"]}, "channels[0]"),
        ({"zone": "CEST"}, "zone"),
        ({"kind": "check"}, "check_id"),
        ({"check_id": "6a1f0c9e-2b7d-4c58-9d3e-1f2a3b4c5d6e"}, "check_id"),
        ({"until": None}, "since"),
    ):
        with subtests.test(change=change, named=named):
            answer = mailed.service.client.post(ADDRESS, json=RANGE | change)
            assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, named)


def test_people_send_so_many_reports_an_hour_and_no_more(mailed: Reported) -> None:
    with patch.object(queries, "MAX_SENT_PER_HOUR", 2):
        answers = [
            mailed.service.client.post(ADDRESS, json=RANGE | {"since": (NOON - no * HOUR).isoformat()}).status_code for no in range(3)
        ]
        unsent = mailed.service.client.post(ADDRESS, json=RANGE | {"since": (NOON - 9 * HOUR).isoformat(), "channels": []})
    assert answers == [202, 202, 409]
    assert unsent.status_code == 202


def run(reported: Reported, statement: str) -> None:
    with psycopg.connect(reported.stage.database.url) as connection:
        connection.execute(statement.encode())
