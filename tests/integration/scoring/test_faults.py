"""Model endpoints that misbehave: what may pass is tried again, what won't is not, and a stranger understands the message."""

import pytest

from app.base.errors import PageRefused, ScoringFailed
from app.base.values import Scalar
from app.calls.scoring import ask_page as asking
from app.calls.scoring.scoring_client import Refusal
from app.domain.deployment import Credentials, CredentialsKind
from app.domain.record import Prediction
from tests.builders.fake_time import FakeTime
from tests.builders.scoring_clients import MAN, POOR_WOMAN, client_of
from tests.models.faulty import Fault, closed_url, faulty

SECRET = "opensesame-42"  # noqa: S105 - made up
ROWS: list[list[Scalar | None]] = [MAN, POOR_WOMAN]


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (Fault.STATUS_401, "answered 401 Unauthorized (1 attempt)"),
        (Fault.STATUS_404, "answered 404 Not Found (1 attempt)"),
        (Fault.REDIRECT, "Redirects are not followed"),
        (Fault.NOT_JSON, "did not answer JSON (JSON is malformed: invalid character (byte 0)). (Endpoint 127.0.0.1:"),
        (Fault.NOT_JSON, ' Its answer began: "<html><body>Welcome'),
        (Fault.EMPTY, "answered without a body"),
        (Fault.ERROR_AS_200, "model not loaded"),
        (Fault.WRONG_LENGTH, "answered 1 rows for a page of 2"),
        (Fault.WRONG_TYPES, "gave an object as the prediction of row 2"),
        (Fault.NULL_PREDICTION, "gave null as the prediction of row 2"),
        (Fault.MISSING_COLUMN, "has no prediction column 'prediction'; it has 'verdict', 'probability'"),
    ],
)
@pytest.mark.parametrize("path", ["url", "mlflow_url"])
def test_what_will_not_pass_fails_at_once_with_the_reason(fault: Fault, sentence: str, path: str) -> None:
    time = FakeTime()

    with faulty(fault) as server, pytest.raises(ScoringFailed) as caught:
        client_of(getattr(server, path), time=time).score(ROWS)

    assert sentence in caught.value.quoting
    assert f"127.0.0.1:{server.server_port}" in str(caught.value)
    assert server.counts.requests == 1
    assert time.slept == []


@pytest.mark.parametrize("path", ["url", "mlflow_url"])
def test_a_page_that_is_refused_is_asked_about_record_by_record_without_a_pause(path: str) -> None:
    time = FakeTime()

    with faulty(Fault.STATUS_422) as server:
        client = client_of(getattr(server, path), time=time)
        with pytest.raises(PageRefused) as caught:
            client.score(ROWS)

    assert "answered 422 Unprocessable" in caught.value.quoting
    assert server.counts.requests == 1 + len(ROWS)
    assert (time.slept, client.refused) == ([], 0)


@pytest.mark.parametrize(("fault", "word"), [(Fault.NAN, "nan"), (Fault.PROBABILITY_ABOVE_ONE, "1.5")])
@pytest.mark.parametrize("path", ["url", "mlflow_url"])
def test_an_impossible_probability_costs_its_row(fault: Fault, word: str, path: str) -> None:
    with faulty(fault) as server:
        good, bad = client_of(getattr(server, path), time=FakeTime()).score(ROWS)

    assert isinstance(good, Prediction)
    assert isinstance(bad, Refusal)
    assert f"gave the probability {word};" in str(bad.error)


def test_ragged_rows_are_refused_with_their_place() -> None:
    with faulty(Fault.RAGGED) as server, pytest.raises(ScoringFailed, match="named 2 fields but gave 1 in row 2"):
        client_of(server.url).score(ROWS)

    assert server.counts.requests == 1


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (Fault.STATUS_500, "answered 500 Internal Server Error (4 attempts)"),
        (Fault.STATUS_503, "answered 503 Service Unavailable (4 attempts)"),
        (Fault.STATUS_429, "lower rate limit"),
        (Fault.HANG_UP, "broke off the connection"),
    ],
)
def test_what_may_pass_is_tried_four_times_before_it_fails(fault: Fault, sentence: str) -> None:
    time = FakeTime()

    with faulty(fault) as server, pytest.raises(ScoringFailed) as caught:
        client_of(server.url, time=time).score(ROWS)

    assert sentence in str(caught.value)
    assert server.counts.requests == 4
    assert len(time.slept) == 3


@pytest.mark.parametrize("fault", [Fault.STATUS_500, Fault.STATUS_503, Fault.STATUS_429, Fault.HANG_UP])
@pytest.mark.parametrize("times", [1, 3])
def test_a_fault_that_passes_is_lived_through(fault: Fault, times: int) -> None:
    with faulty(fault, left=times) as server:
        found = client_of(server.url).score(ROWS)

    assert [answer.prediction for answer in found] == [1, 0]
    assert server.counts.requests == times + 1


def test_a_model_that_has_recovered_scores_the_next_time() -> None:
    with faulty(Fault.WRONG_LENGTH) as server:
        client = client_of(server.url)
        with pytest.raises(ScoringFailed):
            client.score(ROWS)
        server.fault = Fault.NONE

        found = client.score(ROWS)

    assert len(found) == 2


def test_retry_after_is_honoured() -> None:
    time = FakeTime()

    with faulty(Fault.STATUS_429, left=1) as server:
        server.retry_after = "7"
        client_of(server.url, time=time).score(ROWS)

    assert time.slept == [7.0]


def test_an_endless_retry_after_is_cut_short() -> None:
    time = FakeTime()

    with faulty(Fault.STATUS_429, left=1) as server:
        server.retry_after = "99999"
        client_of(server.url, time=time).score(ROWS)

    assert time.slept == [30.0]


def test_the_waits_between_attempts_grow() -> None:
    time = FakeTime()

    with faulty(Fault.STATUS_500) as server, pytest.raises(ScoringFailed):
        client_of(server.url, time=time).score(ROWS)

    assert time.slept == sorted(time.slept)
    assert len(set(time.slept)) == 3


@pytest.mark.thorough
def test_a_slow_model_is_given_up_after_the_time_out_of_each_attempt() -> None:
    with (
        faulty(Fault.SLOW, delay_seconds=60) as server,
        pytest.raises(ScoringFailed, match=r"did not answer within 1.5 seconds \(4 attempts\)"),
    ):
        client_of(server.url, timeout_seconds=1.5).score(ROWS)

    assert server.counts.requests == 4


def test_a_closed_port_is_tried_again_and_then_named() -> None:
    time = FakeTime()
    url = closed_url()

    with pytest.raises(ScoringFailed) as caught:
        client_of(url, time=time).score(ROWS)

    host = url.removeprefix("http://").removesuffix("/score")
    assert f"{host} could not be reached: " in str(caught.value)
    assert "(4 attempts). Check its address, and that the model server runs." in str(caught.value)
    assert len(time.slept) == 3


def test_an_oversized_answer_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "MAX_ANSWER_BYTES", 2**20)

    with faulty(Fault.HUGE) as server, pytest.raises(ScoringFailed, match="more than 1 MiB for one page"):
        client_of(server.url).score(ROWS)

    assert server.counts.requests == 1


# Tokens are fetched first: test_tokens.py has a server that echoes them.
@pytest.mark.parametrize("kind", [kind for kind in CredentialsKind if not kind.has_token_url])
def test_a_server_that_echoes_the_credentials_does_not_get_them_into_the_message(kind: CredentialsKind) -> None:
    credentials = Credentials(kind=kind, name="Authorization", secret=SECRET)

    with faulty(Fault.ECHO_CREDENTIALS) as server, pytest.raises(ScoringFailed) as caught:
        client_of(server.url, credentials=credentials).score(ROWS)

    sent = server.counts.authorizations[-1]
    assert sent is not None
    assert sent.split()[-1] not in caught.value.quoting
    assert SECRET not in caught.value.quoting
    assert "[redacted]" in caught.value.quotation


def test_credentials_stay_out_of_the_whole_chain_of_errors() -> None:
    credentials = Credentials(kind=CredentialsKind.BEARER, secret=SECRET)

    with faulty(Fault.NOT_JSON) as server, pytest.raises(ScoringFailed) as caught:
        client_of(server.url, credentials=credentials).score(ROWS)

    error: BaseException | None = caught.value
    while error is not None:
        assert SECRET not in repr(error)
        error = error.__cause__ or error.__context__


def test_the_first_page_that_fails_for_good_gives_up_the_others() -> None:
    with faulty(Fault.STATUS_404) as server, pytest.raises(ScoringFailed):
        client_of(server.url, page_size=1, concurrency=2).score([MAN] * 500)

    assert server.counts.requests <= 4


def test_the_page_is_named_that_could_not_be_read() -> None:
    with faulty(Fault.NULL_PREDICTION) as server, pytest.raises(ScoringFailed, match=r"page 1 of 3\.\)"):
        client_of(server.url, page_size=1, concurrency=1).score([MAN] * 3)

    assert server.counts.requests == 1


def test_features_that_an_unusable_table_echoes_stay_out_of_the_message() -> None:
    with faulty(Fault.WRONG_LENGTH) as server, pytest.raises(ScoringFailed) as caught:
        client_of(server.url).score(ROWS)

    assert caught.value.quotation == ""
