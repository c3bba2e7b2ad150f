from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec
from syrupy.assertion import SnapshotAssertion

from app.alerts.channels.email import write_alert_mail
from app.alerts.channels.notification import build_alert_message, build_test_message
from app.alerts.channels.slack import write_slack_body
from app.alerts.gravity import rank_alert
from app.alerts.words import list_facts, write_headline, write_sentence
from app.base.values import FIRST, LAST
from app.database.binary_rows import plain_json
from app.domain.alert import Alert, AlertKind, ClosingReason, Event, Resolution
from tests.builders.alerts import FACTS, alert_of, figure_of
from tests.builders.page_words import says

NOW = datetime(2026, 7, 1, 13, 0, 36, tzinfo=UTC)
HOSTILE = "<!channel> & <https://evil.example|click> @all\r\nBcc: everybody@example.com"


def body_of(event: Event = Event.OPENED, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - members of an alert
    of_figure = {name: changes.pop(name) for name in ("facts", "metric", "data", "rule_name") if name in changes}
    figure = replace(alert_of().worst, **of_figure)
    body: dict[str, Any] = plain_json(build_alert_message(event, [replace(alert_of(figures=(figure,)), **changes)], now=NOW))
    return body


def test_the_headline_says_what_happened_to_which_group(snapshot: SnapshotAssertion) -> None:
    opened, resolved = write_headline(body_of()), write_headline(body_of(Event.RESOLVED))

    assert says(opened, "Alert", "Loans", "female")
    assert says(resolved, "Resolved", "Loans", "female")
    assert [opened, resolved] == snapshot
    assert write_headline(body_of(kind=AlertKind.STALE_DATA, attribute=None, group=None)) == "Alert: Loans: Unfair outcomes"


def test_the_facts_are_those_that_are_known() -> None:
    found = dict(list_facts(body_of()))

    assert found["Value"] == "0.62, interval 0.55 to 0.7"
    assert found["Limits"] == "at least 0.8"
    assert found["Metric"] == "disparate_impact, as logged"
    assert found["Records"] == "400 monitored and 800 reference records"
    assert found["Since"] == FACTS["since"]
    assert found["Assigned to"] == "nobody"
    assert found["Check"] == FACTS["check_id"]
    assert found["Counted"] == FACTS["counted"]
    assert "Resolved" not in found
    assert "Note" not in found


def test_an_absent_value_is_left_out_and_a_zero_or_one_just_outside_its_limit_is_not() -> None:
    absent = dict(list_facts(body_of(facts={**FACTS, "value": None})))
    zero = dict(list_facts(body_of(facts={**FACTS, "value": 0.0, "lower": None, "lower_limit": None, "upper_limit": 1.25})))
    just_outside = dict(list_facts(body_of(facts={**FACTS, "value": 0.79996, "upper": None})))

    assert absent["Value"] == "interval 0.55 to 0.7"
    assert (zero["Value"], zero["Limits"]) == ("0, interval open to 0.7", "at most 1.25")
    assert just_outside["Value"] == "0.79996, interval 0.55 to open"
    below = dict(list_facts(body_of(facts={**FACTS, "value": -0.3, "lower": -0.49, "upper": -0.1, "lower_limit": -0.1})))
    assert (below["Value"], below["Limits"]) == ("−0.3, interval −0.49 to −0.1", "at least −0.1")


def test_a_resolved_alert_says_when_and_why() -> None:
    found = dict(list_facts(body_of(Event.RESOLVED, resolved_at=NOW, resolution=Resolution.NO_LONGER_WATCHED)))

    assert found["Resolved"] == "2026-07-01T13:00:36Z, no longer watched"


def test_the_figures_of_a_resolved_alert_are_those_of_its_recovery() -> None:
    recovery = {"sentence": "It is 0.9.", "value": 0.9, "lower": 0.85, "upper": 0.95, "verdict": "fair", "check_id": "another"}

    found = dict(list_facts(body_of(Event.RESOLVED, facts={**FACTS, "recovery": recovery})))

    assert (found["Value"], found["Verdict"], found["Check"]) == ("0.9, interval 0.85 to 0.95", "fair", "another")


def test_an_alert_without_facts_is_still_told() -> None:
    body = body_of(facts={})

    assert write_sentence(body) == ""
    assert dict(list_facts(body))["Deployment"] == "Loans (loans-0)"


def test_slack_shows_hostile_names_as_text() -> None:
    body = body_of(group=HOSTILE, deployment_name=HOSTILE, facts={"sentence": HOSTILE})

    sent = msgspec.json.decode(write_slack_body(body))

    texts = [sent["text"]]
    for block in sent["blocks"]:
        texts += [part["text"] for part in [block.get("text"), *block.get("fields", [])] if part]
    for text in texts:
        assert "<" not in text
        assert ">" not in text
        assert "&" not in text.replace("&lt;", "").replace("&gt;", "").replace("&amp;", "")
        assert "@all" not in text
    assert all(block["type"] == "section" and len(block.get("fields", [])) <= 10 for block in sent["blocks"])


def test_no_name_turns_a_line_around_or_becomes_a_link() -> None:
    body = body_of(group="\u202e\u2066riaf\u2069 [look](https://evil.example)", rule_name="ליאור")

    shown = [write_headline(body), *(value for _, value in list_facts(body))]

    assert not any(sign in text for text in shown for sign in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067")
    assert all(text.count(FIRST) == text.count(LAST) for text in shown)
    assert f"{FIRST}ליאור{LAST}" in shown[0]
    assert "ליאור" in shown[0]
    assert b"](" not in write_slack_body(body)


def test_slack_is_sent_no_more_than_it_takes() -> None:
    long = "&" * 5000
    body = body_of(attribute=long, group=long, rule_name=long, note=long, facts={**FACTS, "sentence": "<" * 5000})

    sent = msgspec.json.decode(write_slack_body(body))

    for block in sent["blocks"]:
        assert len(block.get("text", {}).get("text", "")) <= 3000
        assert all(len(field["text"]) <= 2000 for field in block.get("fields", []))
    assert len(sent["text"]) < 40_000


def test_no_name_can_add_a_header_to_an_e_mail(snapshot: SnapshotAssertion) -> None:
    body = body_of(group=HOSTILE, deployment_name="Loans\r\nBcc: x@example.com", rule_name="a\u2028b\x00c")

    mail = write_alert_mail(body, sender="evenhand@example.com", to=["risk@example.com"])

    assert mail["Bcc"] is None
    assert mail["To"] == "risk@example.com"
    assert b"\nBcc:" not in mail.as_bytes().partition(b"\r\n\r\n")[0]
    assert says(said := str(mail["Subject"]), "Alert", "Bcc")
    assert said == snapshot


def test_copies_of_an_e_mail_have_one_id_and_all_mails_of_an_alert_one_thread() -> None:
    opened, resolved = body_of(), body_of(Event.RESOLVED)

    first, again, last = (
        write_alert_mail(body, sender="evenhand@example.com", to=["risk@example.com"]) for body in (opened, opened, resolved)
    )

    assert first["Message-ID"] == again["Message-ID"] == f"<{opened['id']}@example.com>"
    assert last["Message-ID"] != first["Message-ID"]
    assert last["References"] == first["References"]
    assert first["Date"] == "Wed, 01 Jul 2026 13:00:36 +0000"


def test_an_e_mail_in_any_script_is_plain_text_that_holds_the_sentence_and_the_facts() -> None:
    mail = write_alert_mail(body_of(deployment_name="Кредит 信用"), sender="evenhand@example.com", to=["a@example.com", "b@example.com"])

    assert mail.get_content_type() == "text/plain"
    assert str(FACTS["sentence"]) in mail.get_content()
    assert "Deployment: Кредит 信用 (loans-0)" in mail.get_content()
    assert mail["To"] == "a@example.com, b@example.com"


def test_a_test_says_that_it_is_one_in_every_form() -> None:
    body = plain_json(build_test_message(now=NOW))

    assert write_headline(body) == "Test of an alert channel"
    assert list_facts(body) == []
    assert b"This is a test" in write_slack_body(body)
    assert "This is a test" in write_alert_mail(body, sender="evenhand@example.com", to=["risk@example.com"]).get_content()


def test_display_names_word_the_message_and_the_label_stays_in_brackets(snapshot: SnapshotAssertion) -> None:
    named = {"display_sentence": "Disparate impact of Sex for women is 0.62.", "display_group": "women", "disadvantaged": "monitored"}
    body = body_of(facts={**FACTS, **named, "disadvantaged_group": "female", "display_disadvantaged_group": "women"})
    found = dict(list_facts(body))

    assert says(said := write_headline(body), "women")
    assert said == snapshot
    assert says(said := write_sentence(body), "Sex", "women", "0.62")
    assert said == snapshot
    assert (body["sentence"], body["alerts"][0]["group"], body["alerts"][0]["group_name"]) == (FACTS["sentence"], "female", "women")
    assert (found["Group"], found["At a disadvantage"]) == ("women (female)", "women (monitored)")
    assert "women" in write_alert_mail(body, sender="evenhand@example.org", to=["a@example.org"])["Subject"]
    assert "women" in msgspec.json.decode(write_slack_body(body))["text"]


def test_a_message_says_who_works_on_it_and_why_it_was_closed(snapshot: SnapshotAssertion) -> None:
    closed = {"closed_by": "user:ada", "closing_note": "Threshold corrected.", "closing_reason": ClosingReason.DATA_ERROR}
    found = dict(list_facts(body_of(Event.RESOLVED, assignee="user:ada", resolved_at=NOW, resolution=Resolution.CLOSED, **closed)))

    assert found["Assigned to"] == "user:ada"
    assert found["Closed"] == snapshot


def several(count: int) -> list[Alert]:
    """Alerts on groups of which a later one is worse."""
    return [alert_of(no=no, group=f"branch-{no}", facts={**FACTS, "value": 0.7 - no / 100}) for no in range(1, count + 1)]


def test_a_message_about_many_alerts_lists_the_worst_five_with_their_numbers_and_the_page_of_all(snapshot: SnapshotAssertion) -> None:
    alerts = sorted(several(8), key=rank_alert)
    body = plain_json(build_alert_message(Event.OPENED, [replace(alerts[0], assignee="user:ada", note="On it."), *alerts[1:]], now=NOW))
    lines = list_facts(body)

    assert (body["count"], [alert["group"] for alert in body["alerts"]]) == (8, [f"branch-{no}" for no in (8, 7, 6, 5, 4)])
    assert [name for name, _ in lines] == ["Deployment", *(f"branch-{no} (Sex)" for no in (8, 7, 6, 5, 4)), "Page"]
    assert says(lines[1][1], "0.62, interval 0.55 to 0.7", "at least 0.8", "400 monitored", "user:ada", "On it.")
    assert dict(lines)["Page"] == "/deployments/loans-0/alerts"
    assert [write_headline(body), write_sentence(body), lines[1][1].rpartition(";")[0]] == snapshot
    assert b"branch-3" not in write_slack_body(body)


def test_a_name_from_right_to_left_has_no_blanks_around_it_among_many_alerts() -> None:
    alerts = [replace(alert_of(no=no, group=f"branch-{no}"), assignee="user:ליאור", note="ליאור") for no in (1, 2)]
    lines = list_facts(plain_json(build_alert_message(Event.OPENED, alerts, now=NOW)))

    assert f"assigned to: user:{FIRST}ליאור{LAST}; note: {FIRST}ליאור{LAST}; page: " in lines[1][1]


def test_a_group_at_a_disadvantage_is_named_alone_where_its_side_is_not_known() -> None:
    found = dict(list_facts(body_of(facts={**FACTS, "disadvantaged": None, "disadvantaged_group": "female"})))

    assert found["At a disadvantage"] == "female"


def test_an_e_mail_about_many_alerts_has_a_line_for_each() -> None:
    body = plain_json(build_alert_message(Event.REMINDED, several(2), now=NOW))
    mail = write_alert_mail(body, sender="evenhand@example.com", to=["risk@example.com"])

    assert "References" not in mail
    assert all(f"branch-{no} (Sex): metric: disparate_impact" in mail.get_content() for no in (1, 2))


def test_an_alert_is_unfair_since_the_earliest_start_of_its_open_figures() -> None:
    """The worst figure may have begun later than another one."""
    ended_at = datetime(2026, 7, 1, 13, tzinfo=UTC)
    worst, earliest, ended = (figure_of(no=hour, facts={**FACTS, "since": f"2026-07-01T{hour:02}:00:00+00:00"}) for hour in (12, 10, 8))
    ended = replace(ended, ended_at=ended_at)

    assert alert_of(figures=(worst, earliest, ended)).first == earliest
    assert alert_of(figures=(worst, earliest, ended)).worst == worst
    assert alert_of(figures=(replace(worst, ended_at=ended_at), ended)).first == ended
