"""One claimed notification to its receiver. Stores nothing and opens no transaction."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.alerts.attempts import Delivered, Undelivered
from app.alerts.email import alert_mail, send_mail
from app.alerts.mail_server import MailServer, mail_server_of
from app.alerts.posting import post_json
from app.alerts.slack import slack_body
from app.alerts.webhooks import webhook_body, webhook_headers
from app.domain.channels import Channel, ChannelKind
from app.errors import SetupError
from app.scoring.egress import EgressPolicy
from app.settings import Settings
from app.store.deployments import Sealer
from app.store.notifications import ClaimedNotification

_WRONG_KEY = Undelivered(
    reason=(
        "The channel's secret was encrypted with another secret key. Give all processes the key it was stored with, "
        "or send the secret (of Slack: the URL) again."
    )
)
_NO_MAIL_SERVER = Undelivered(reason="This worker has no mail server: set EVENHAND_SMTP_URL and EVENHAND_SMTP_SENDER where it runs.")


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends by each kind of channel, with what this installation is allowed and set up for."""

    policy: EgressPolicy
    sealer: Sealer
    mail_server: MailServer | None

    @classmethod
    def of(cls, settings: Settings, sealer: Sealer) -> "Sender":
        """The sender of these settings.

        Raises:
            SetupError: the allow-list or the mail server cannot be used.
        """
        return cls(EgressPolicy.of(settings.allowed_endpoints), sealer, mail_server_of(settings))

    def send(self, claimed: ClaimedNotification, *, now: datetime) -> Delivered | Undelivered:
        """Makes one attempt and says how it ended."""
        channel, body = claimed.channel, claimed.notification.body
        if channel.kind is ChannelKind.EMAIL:
            return self._mail(channel, body)
        try:
            secret = self.sealer.unseal(channel.sealed or b"").decode()
        except SetupError:
            return _WRONG_KEY
        if channel.kind is ChannelKind.SLACK:
            return post_json(secret, slack_body(body), [], self.policy)
        content = webhook_body(body)
        headers = webhook_headers(claimed.notification.id, content, secret=secret, now=now)
        return post_json(channel.url or "", content, headers, self.policy)

    def _mail(self, channel: Channel, body: dict[str, Any]) -> Delivered | Undelivered:
        if self.mail_server is None:
            return _NO_MAIL_SERVER
        return send_mail(alert_mail(body, sender=self.mail_server.sender, to=channel.to), self.mail_server)
