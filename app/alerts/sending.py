"""Sends one claimed notification. Stores nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from ..domain.channels import ChannelKind
from ..errors import SetupError
from ..outbound.egress import EgressPolicy
from ..settings import Settings
from ..store.alerts.notifications import ClaimedNotification
from ..store.database.sealer import Sealer
from .attempts import Delivered, Undelivered
from .email import alert_mail, send_mail
from .mail_server import MailServer, mail_server_of
from .posting import post_json
from .slack import slack_body
from .webhooks import webhook_body, webhook_headers

_WRONG_KEY = Undelivered(
    reason=(
        "The channel's secret was encrypted with another secret key. Give all processes the key it was stored with, "
        "or send the secret (of Slack: the URL) again."
    )
)
_NO_MAIL_SERVER = Undelivered(reason="This worker has no mail server: set EVENHAND_SMTP_URL and EVENHAND_SMTP_SENDER where it runs.")


@dataclass(frozen=True, slots=True)
class Sender:
    egress: Callable[[], EgressPolicy]
    sealer: Sealer
    mail_server: MailServer | None

    @classmethod
    def of(cls, settings: Settings, sealer: Sealer, egress: Callable[[], EgressPolicy]) -> "Sender":
        """Returns the sender; `egress` says at every attempt which addresses may be called."""
        return cls(egress, sealer, mail_server_of(settings))

    def send(self, claimed: ClaimedNotification, *, now: datetime) -> Delivered | Undelivered:
        channel, body = claimed.channel, claimed.notification.body
        if channel.kind is ChannelKind.EMAIL:
            if self.mail_server is None:
                return _NO_MAIL_SERVER
            return send_mail(alert_mail(body, sender=self.mail_server.sender, to=channel.to), self.mail_server)
        try:
            secret = self.sealer.unseal(channel.sealed or b"").decode()
        except SetupError:
            return _WRONG_KEY
        if channel.kind is ChannelKind.SLACK:
            return post_json(secret, slack_body(body), [], self.egress())
        content = webhook_body(body)
        headers = webhook_headers(claimed.notification.id, content, secret=secret, now=now)
        return post_json(channel.url or "", content, headers, self.egress())
