"""Stored channels of alerts. What is secret of one is sealed on its way in, and opened only by whoever sends."""

import base64
import secrets
from urllib.parse import urlsplit

from sqlalchemy import delete, func, select, update
from sqlalchemy.dialects.postgresql import insert as insert_if_absent
from sqlalchemy.orm import Session

from app.domain.channels import MIN_SECRET_BYTES, SECRET_PREFIX, Channel, ChannelContent, ChannelKind
from app.errors import Conflict, NotFound
from app.store.deployments import Sealer
from app.store.tables import AlertChannelRow


def get_channel(session: Session, channel_id: str) -> Channel:
    """The channel of that id.

    Raises:
        NotFound: there is none.
    """
    return _channel(_row(session, channel_id))


def find_channel(session: Session, channel_id: str, *, for_change: bool = False) -> Channel | None:
    """The channel of that id, if there is one; `for_change` keeps others from changing it until the transaction ends."""
    statement = select(AlertChannelRow).where(AlertChannelRow.id == channel_id)
    row = session.scalar(statement.with_for_update(key_share=True) if for_change else statement)
    return _channel(row) if row is not None else None


def channel_by_no(session: Session, no: int) -> Channel:
    """The channel of that number, which a row that refers to it names."""
    return _channel(session.scalars(select(AlertChannelRow).where(AlertChannelRow.no == no)).one())


def channel_page(session: Session, *, after_no: int, limit: int) -> list[Channel]:
    """At most `limit` channels behind `after_no`, oldest first."""
    statement = select(AlertChannelRow).where(AlertChannelRow.no > after_no).order_by(AlertChannelRow.no).limit(limit)
    return [_channel(row) for row in session.scalars(statement)]


def create_channel(session: Session, channel_id: str, content: ChannelContent, sealer: Sealer) -> tuple[Channel, str | None]:
    """The new channel, and the signing secret if one was made for it.

    Raises:
        Conflict: somebody made one of that id in this moment.
    """
    made = _made_secret() if content.kind is ChannelKind.WEBHOOK and content.secret is None else None
    values = {"id": channel_id, **_open_values(content), "secret": _sealed(content, made, sealer)}
    insertion = insert_if_absent(AlertChannelRow).values(values).on_conflict_do_nothing(index_elements=[AlertChannelRow.id])
    if session.scalar(insertion.returning(AlertChannelRow.no)) is None:
        raise Conflict(f"Somebody else made an alert channel {channel_id} in this moment; send the request again.")
    return get_channel(session, channel_id), made


def change_channel(session: Session, channel: Channel, content: ChannelContent, sealer: Sealer) -> tuple[Channel, str | None]:
    """The channel with other content, and the signing secret if a new one was made for it.

    A secret that is left out stays, but not where the webhook moves to another host: who had the old one would not be the receiver.

    Raises:
        Conflict: it would be of another kind.
    """
    if content.kind is not channel.kind:
        raise Conflict(f"The alert channel {channel.id} is of the kind {channel.kind}; delete it first, or choose another id.")
    made = None
    if content.kind is ChannelKind.WEBHOOK and content.secret is None and not _stays(channel, content):
        made = _made_secret()
    values = _open_values(content)
    if content.kind is ChannelKind.SLACK and content.url is None:
        values["config"] = {"host": channel.host}
    sealed = _sealed(content, made, sealer)
    if sealed is not None:
        values["secret"] = sealed
    elif values == _open_values_of(channel):
        return channel, None
    statement = update(AlertChannelRow).where(AlertChannelRow.no == channel.no).values(**values, updated_at=func.now())
    session.execute(statement.execution_options(synchronize_session=False))
    return get_channel(session, channel.id), made


def delete_channel(session: Session, channel_id: str) -> None:
    """Forgets the channel, its notifications, and that rules told it anything.

    Raises:
        NotFound: there is none.
    """
    deleted = session.scalar(delete(AlertChannelRow).where(AlertChannelRow.id == channel_id).returning(AlertChannelRow.no))
    if deleted is None:
        raise NotFound("alert channel", channel_id)


def _row(session: Session, channel_id: str) -> AlertChannelRow:
    row = session.scalar(select(AlertChannelRow).where(AlertChannelRow.id == channel_id), execution_options={"populate_existing": True})
    if row is None:
        raise NotFound("alert channel", channel_id)
    return row


def _channel(row: AlertChannelRow) -> Channel:
    return Channel(
        no=row.no,
        id=row.id,
        name=row.name,
        kind=ChannelKind(row.kind),
        url=row.config.get("url"),
        host=row.config.get("host"),
        to=tuple(row.config.get("to", ())),
        sealed=row.secret,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _open_values(content: ChannelContent) -> dict[str, object]:
    config: dict[str, object]
    match content.kind:
        case ChannelKind.WEBHOOK:
            config = {"url": content.url, "host": _host(content.url)}
        case ChannelKind.SLACK:
            config = {"host": _host(content.url)}
        case ChannelKind.EMAIL:
            config = {"to": list(content.to)}
    return {"name": content.name, "kind": content.kind.value, "config": config}


def _open_values_of(channel: Channel) -> dict[str, object]:
    parts = {"url": channel.url, "host": channel.host, "to": list(channel.to)}
    return {"name": channel.name, "kind": channel.kind.value, "config": {name: part for name, part in parts.items() if part}}


def _stays(channel: Channel, content: ChannelContent) -> bool:
    return channel.url is not None and content.url is not None and _origin(channel.url) == _origin(content.url)


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme.lower(), parts.netloc.lower()


def _host(url: str | None) -> str | None:
    return urlsplit(url).netloc if url is not None else None


def _sealed(content: ChannelContent, made: str | None, sealer: Sealer) -> bytes | None:
    secret = content.url if content.kind is ChannelKind.SLACK else made or content.secret
    return sealer.seal(secret.encode()) if secret is not None else None


def _made_secret() -> str:
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(MIN_SECRET_BYTES)).decode()
