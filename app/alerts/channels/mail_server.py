"""The operator's mail server, from the settings."""

from dataclasses import field
from urllib.parse import unquote, urlsplit

from ...base.errors import SetupError
from ...base.frozen import frozen_by_name
from ...base.settings import Settings
from .channel import is_mail_address

_PORTS = {"smtp": 587, "smtps": 465}


@frozen_by_name
class MailServer:
    """The server that takes e-mail. `is_tls`: TLS from the first byte; otherwise STARTTLS where it is
    offered.
    """

    host: str
    port: int
    is_tls: bool
    user: str | None
    password: str | None = field(repr=False)
    sender: str


def read_mail_server(settings: Settings) -> MailServer | None:
    if settings.smtp_url is None or not settings.smtp_url.get_secret_value():
        return None
    try:
        url = urlsplit(settings.smtp_url.get_secret_value())
        host, port = url.hostname, url.port
    except ValueError as error:
        raise _unreadable() from error
    if url.scheme not in _PORTS or not host or url.path.strip("/") or url.query or url.fragment:
        raise _unreadable()
    user, password = (unquote(text) if text else None for text in (url.username, url.password))
    if (user is None) != (password is None) or not f"{user}{password}".isascii():
        raise SetupError("EVENHAND_SMTP_URL must hold both a user and a password or neither, in ASCII.")
    if not is_mail_address(settings.smtp_sender):
        raise SetupError(
            "EVENHAND_SMTP_SENDER must be the e-mail address that alerts come from, such as "
            "evenhand@example.com."
        )
    sender = settings.smtp_sender
    return MailServer(
        host=host,
        port=port or _PORTS[url.scheme],
        is_tls=url.scheme == "smtps",
        user=user,
        password=password,
        sender=sender,
    )


def _unreadable() -> SetupError:
    # Without the address: it holds a password.
    return SetupError(
        "EVENHAND_SMTP_URL cannot be read: write it as smtp://user:password@host:587 or "
        "smtps://user:password@host:465;"
        " special characters of the password must be percent-encoded."
    )
