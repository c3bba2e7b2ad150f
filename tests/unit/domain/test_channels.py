import base64
from datetime import UTC, datetime

import pytest

from app.alerts.channels.channel import Channel, ChannelContent, ChannelKind, complete_secret, find_content_problems

URL = "https://alerts.example.com/evenhand"


def fields(kind: ChannelKind, *, is_new: bool = True, name: str = "On-call", **members: object) -> list[str]:
    content = ChannelContent(name=name, kind=kind, **members)  # type: ignore[arg-type]
    return [problem.field for problem in find_content_problems(content, is_new=is_new)]


def secret(length: int) -> str:
    return "whsec_" + base64.b64encode(bytes(range(length))).decode()


def test_each_kind_takes_what_it_needs_and_nothing_else() -> None:
    assert fields(ChannelKind.WEBHOOK, url=URL) == []
    assert fields(ChannelKind.SLACK, url=URL) == []
    assert fields(ChannelKind.EMAIL, to=("risk@example.com",)) == []
    assert fields(ChannelKind.WEBHOOK, url=URL, to=("risk@example.com",)) == ["to"]
    assert fields(ChannelKind.SLACK, url=URL, secret=secret(24)) == ["secret"]
    assert fields(ChannelKind.EMAIL, to=("risk@example.com",), url=URL, secret=secret(24)) == ["url", "secret"]


def test_a_url_may_be_left_out_only_where_it_is_a_secret_that_is_stored() -> None:
    assert fields(ChannelKind.SLACK) == ["url"]
    assert fields(ChannelKind.SLACK, is_new=False) == []
    assert fields(ChannelKind.WEBHOOK, is_new=False) == ["url"]


@pytest.mark.parametrize("length", [24, 32, 64])
def test_a_signing_secret_of_a_good_length_is_taken(length: int) -> None:
    assert fields(ChannelKind.WEBHOOK, url=URL, secret=secret(length)) == []


@pytest.mark.parametrize("text", ["", "whsec_", secret(23), secret(65), secret(24)[6:], "whsec_not base64!", "whsec_ü" + "A" * 32])
def test_any_other_secret_is_refused(text: str) -> None:
    assert fields(ChannelKind.WEBHOOK, url=URL, secret=text) == ["secret"]


@pytest.mark.parametrize(
    "address",
    [
        "risk",
        "@example.com",
        "risk@",
        "risk@example.com\n",
        "risk@example.com\r\nBcc: x@example.com",
        "Risk <risk@example.com>",
        "a@example.com, b@example.com",
        "rïsk@example.com",
        "risk@exa_mple.com",
        f"{'a' * 65}@example.com",
        f"risk@{'a' * 63}.{'b' * 63}.{'c' * 63}.{'d' * 63}.com",
    ],
)
def test_what_is_not_exactly_one_address_is_refused(address: str) -> None:
    assert fields(ChannelKind.EMAIL, to=("ok@example.com", address)) == ["to[1]"]


def test_a_list_of_addresses_is_neither_empty_nor_long_nor_repeats_itself() -> None:
    assert fields(ChannelKind.EMAIL) == ["to"]
    assert fields(ChannelKind.EMAIL, to=tuple(f"r{no}@example.com" for no in range(21))) == ["to"]
    assert fields(ChannelKind.EMAIL, to=("risk@example.com", "Risk@Example.com")) == ["to"]


def test_a_blank_name_and_control_characters_are_refused() -> None:
    assert fields(ChannelKind.WEBHOOK, name=" ", url=URL) == ["name"]
    assert fields(ChannelKind.WEBHOOK, url=URL + "\x00") == ["url"]


def stored(url: str) -> Channel:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    webhook = ChannelKind.WEBHOOK
    return Channel(no=1, id="ops", name="Ops", kind=webhook, url=url, host=None, to=(), sealed=b"1", created_at=at, updated_at=at)


def test_a_new_webhook_gets_a_secret_of_its_own() -> None:
    content = ChannelContent(name="Ops", kind=ChannelKind.WEBHOOK, url=URL)
    first, second = complete_secret(content, None), complete_secret(content, None)

    assert find_content_problems(first, is_new=True) == []
    assert None not in {first.secret, second.secret}
    assert first.secret != second.secret


@pytest.mark.parametrize(
    ("before", "is_kept"),
    [(URL, True), ("https://ALERTS.example.com/other", True), ("http://alerts.example.com/evenhand", False), ("https://x.example/", False)],
)
def test_a_secret_is_kept_while_the_receiver_is_the_same(before: str, is_kept: bool) -> None:  # noqa: FBT001 - a parameter of pytest
    content = ChannelContent(name="Ops", kind=ChannelKind.WEBHOOK, url=URL)

    assert (complete_secret(content, stored(before)).secret is None) is is_kept


def test_a_secret_that_is_given_is_never_replaced_and_other_kinds_get_none() -> None:
    given = ChannelContent(name="Ops", kind=ChannelKind.WEBHOOK, url=URL, secret=secret(32))
    slack = ChannelContent(name="Ops", kind=ChannelKind.SLACK, url=URL)

    assert complete_secret(given, None) is given
    assert complete_secret(slack, None) == slack
