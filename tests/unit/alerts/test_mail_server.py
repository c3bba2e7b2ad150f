import pytest

from app.alerts.channels.email import TIMEOUT_SECONDS, MailServer, read_mail_server, seconds_to_connect
from app.alerts.channels.notification import NOTIFICATION_LEASE
from app.base.errors import SetupError
from app.base.settings import Settings


def server_of(url: str, sender: str = "evenhand@example.com") -> MailServer | None:
    return read_mail_server(Settings(smtp_url=url, smtp_sender=sender))  # type: ignore[arg-type]


def test_without_an_address_there_is_no_mail_server() -> None:
    assert read_mail_server(Settings()) is None
    assert server_of("") is None


def test_the_address_holds_server_user_and_password() -> None:
    found = server_of("smtp://alerts%40example.com:p%40ss%2Fword@mail.example.com")

    assert found is not None
    assert (found.host, found.port, found.is_tls, found.sender) == ("mail.example.com", 587, False, "evenhand@example.com")
    assert (found.user, found.password) == ("alerts@example.com", "p@ss/word")
    assert "p@ss" not in repr(found)


def test_smtps_is_under_tls_from_the_start_on_a_port_of_its_own() -> None:
    found = server_of("smtps://mail.example.com")

    assert found is not None
    assert (found.is_tls, found.port, found.user, found.password) == (True, 465, None, None)


@pytest.mark.parametrize(
    "url",
    ["mail.example.com", "http://mail.example.com", "smtp://", "smtp://u:hush@host:x", "smtp://h/path", "smtp://h?x=1", "smtp://[::1:hush"],
)
def test_an_address_that_cannot_be_read_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(SetupError, match="EVENHAND_SMTP_URL") as refusal:
        server_of(url)

    assert "hush" not in str(refusal.value)


@pytest.mark.parametrize("url", ["smtp://user@host", "smtp://:hush@host", "smtp://user:h%C3%BCsh@host"])
def test_a_user_needs_a_password_and_both_are_ascii(url: str) -> None:
    with pytest.raises(SetupError, match="both a user and a password"):
        server_of(url)


@pytest.mark.parametrize("sender", ["", "evenhand", "a@b\r\nBcc: c@d", "Evenhand <e@example.com>"])
def test_the_sender_must_be_an_address(sender: str) -> None:
    with pytest.raises(SetupError, match="EVENHAND_SMTP_SENDER"):
        server_of("smtp://host", sender)


def test_a_server_of_many_addresses_that_are_all_dead_ends_the_attempt_before_its_lease() -> None:
    waits = [addresses * seconds_to_connect(addresses) for addresses in range(1, 11)]

    assert seconds_to_connect(1) == TIMEOUT_SECONDS
    assert max(waits) + TIMEOUT_SECONDS <= NOTIFICATION_LEASE.total_seconds()
