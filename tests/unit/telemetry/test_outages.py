"""Few lines about many failures."""

from structlog.testing import capture_logs

from app.base.telemetry.outage_lines import REPEAT_SECONDS, OutageLog


def test_an_outage_is_logged_when_it_begins_then_once_a_minute_with_a_count_and_when_it_ends() -> None:
    now = [100.0]
    outages = OutageLog("away", "back", clock=lambda: now[0])

    with capture_logs() as lines:
        outages.end()
        for _ in range(241):  # two minutes of two failures a second
            outages.fail(reason="refused")
            now[0] += REPEAT_SECONDS / 120
        outages.end()
        outages.end()
        outages.fail(reason="refused again")

    assert [(line["event"], line.get("failures"), line.get("seconds")) for line in lines] == [
        ("away", None, None),
        ("away", 121, 60),
        ("away", 241, 120),
        ("back", 241, 120),
        ("away", None, None),
    ]
    assert [line.get("reason") for line in lines] == ["refused", "refused", "refused", None, "refused again"]
    assert [line["log_level"] for line in lines] == ["warning", "warning", "warning", "info", "warning"]
