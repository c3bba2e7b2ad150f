"""The operator's mail server, from the settings."""

from dataclasses import field
from urllib.parse import unquote, urlsplit

from ..domain.channels import is_mail_address
from ..errors import SetupError
from ..frozen import frozen
from ..settings import Settings

_PORTS = {"smtp": 587, "smtps": 465}


@frozen(kw_only=True)
class MailServer:
    """The server that takes e-mail. `is_tls`: TLS from the first byte; otherwise STARTTLS where it is offered."""

    host: str
    port: int
    is_tls: bool
    user: str | None
    password: str | None = field(repr=False)
    sender: str


def mail_server_of(settings: Settings) -> MailServer | None:
    if settings.smtp_url is None or not settings.smtp_url.get_secret_value():
        return None
    try:
        parts = urlsplit(settings.smtp_url.get_secret_value())
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise _unreadable() from error
    if parts.scheme not in _PORTS or not host or parts.path.strip("/") or parts.query or parts.fragment:
        raise _unreadable()
    user, password = (unquote(part) if part else None for part in (parts.username, parts.password))
    if (user is None) != (password is None) or not f"{user}{password}".isascii():
        raise SetupError("EVENHAND_SMTP_URL must hold both a user and a password or neither, in ASCII.")
    if not is_mail_address(settings.smtp_sender):
        raise SetupError("EVENHAND_SMTP_SENDER must be the e-mail address that alerts come from, such as evenhand@example.com.")
    sender = settings.smtp_sender
    return MailServer(
        host=host, port=port or _PORTS[parts.scheme], is_tls=parts.scheme == "smtps", user=user, password=password, sender=sender
    )


def _unreadable() -> SetupError:
    # Without the address: it holds a password.
    return SetupError(
        "EVENHAND_SMTP_URL cannot be read: write it as smtp://user:password@host:587 or smtps://user:password@host:465;"
        " special characters of the password must be percent-encoded."
    )
