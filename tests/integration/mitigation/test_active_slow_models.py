"""A model that takes more than half of the time there is still gets all of it, though records and copies are asked about together."""

import pytest

from tests.builders.row_server import row_server
from tests.integration.mitigation.live import SEX, applicant, ask, register, words
from tests.models.serving import Reply
from tests.service import RunningService


@pytest.mark.nightly
def test_a_model_that_needs_most_of_the_time_for_every_call_is_waited_for(service: RunningService) -> None:
    with row_server() as server:
        register(service, server, SEX)
        ask(service, applicant(sex="male"))
        server.replies = dict.fromkeys(range(10), 6.0)
        answer = ask(service, applicant(), timeout_seconds=12)

    # Of the 11 seconds that the model has neither half would do.
    assert words(answer) == ["changed"]
    assert answer["warning"] is None


@pytest.mark.nightly
def test_records_are_answered_alone_where_the_call_with_their_copies_hangs(service: RunningService) -> None:
    with row_server() as server:
        register(service, server, SEX)
        server.replies = {1: 60, 3: 60}
        answer = ask(service, applicant(), timeout_seconds=3)

    assert words(answer) == ["not_scored"]
    assert answer["predictions"][0]["mitigated_prediction"] == 0
    assert "could not be scored" in answer["warning"]


@pytest.mark.nightly
def test_the_call_with_the_copies_counts_where_the_one_without_fails_meanwhile(service: RunningService) -> None:
    with row_server() as server:
        register(service, server, SEX)
        server.replies = {1: 6.0, 2: Reply(400, b"no")}
        answer = ask(service, applicant(), timeout_seconds=12)

    assert words(answer) == ["changed"]
