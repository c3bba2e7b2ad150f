"""Alert channels: kinds, a row each, and their rules."""

from collections.abc import Sequence
from dataclasses import field, replace
from datetime import datetime
from enum import StrEnum
from typing import Self
from urllib.parse import urlsplit

from sqlalchemy import delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ...base.errors import Conflict, FieldProblem, require_present
from ...base.values import frozen_by_name, name_problem
from ...database.binary_rows import page_oldest, read_row
from ...database.engine import Sealer
from ...database.reseal import begin_sealing
from ...database.tables import AlertChannelRow
from ...domain.paging import Paging
from .email import Email
from .protocol import ChannelFields, ChannelProtocol
from .slack import Slack
from .webhook import Webhook


class ChannelKind(StrEnum):
    """The protocol of a channel."""

    WEBHOOK = "webhook", Webhook()
    SLACK = "slack", Slack()
    EMAIL = "email", Email()

    protocol: ChannelProtocol

    def __new__(cls, name: str, protocol: ChannelProtocol) -> Self:
        kind = str.__new__(cls, name)
        kind._value_ = name
        kind.protocol = protocol
        return kind


@frozen_by_name
class ChannelContent(ChannelFields):
    kind: ChannelKind


@frozen_by_name
class Channel:
    """A stored channel. Only a webhook has `url`, only a webhook or Slack `host`, only e-mail `to`.

    `sealed` is encrypted: the key that signs messages, or the whole URL of Slack.
    """

    no: int
    id: str
    name: str
    kind: ChannelKind
    url: str | None
    host: str | None
    to: tuple[str, ...]
    sealed: bytes | None = field(repr=False)
    created_at: datetime
    updated_at: datetime


def find_content_problems(content: ChannelContent, *, is_new: bool) -> list[FieldProblem]:
    """A change (`is_new` false) may leave secrets out. The host of the URL is not checked here."""
    problem = name_problem(content.name)
    problems = [] if problem is None else [FieldProblem("name", problem)]
    return [*problems, *content.kind.protocol.find_problems(content, is_new=is_new)]


def complete_secret(content: ChannelContent, before: Channel | None) -> ChannelContent:
    """A stored secret stays, unless the webhook moves to another origin, which must not get it."""
    if content.secret is not None:
        return content
    if (
        before is not None
        and before.url is not None
        and content.url is not None
        and _read_origin(before.url) == _read_origin(content.url)
    ):
        return content
    return replace(content, secret=content.kind.protocol.make_secret())


def _read_origin(url: str) -> tuple[str, str]:
    split_url = urlsplit(url)
    return split_url.scheme.lower(), split_url.netloc.lower()


def get_channel(session: Session, channel_id: str) -> Channel:
    """Raises NotFound."""
    row = session.scalar(select(AlertChannelRow).where(AlertChannelRow.id == channel_id))
    return _to_channel(require_present(row, "alert channel", channel_id))


def find_channel_for_change(session: Session, channel_id: str) -> Channel | None:
    """Finds and locks a channel until the transaction ends."""
    statement = select(AlertChannelRow).where(AlertChannelRow.id == channel_id)
    row = session.scalar(statement.with_for_update(key_share=True))
    return _to_channel(row) if row is not None else None


def read_channel_by_no(session: Session, no: int) -> Channel:
    return _to_channel(session.scalars(select(AlertChannelRow).where(AlertChannelRow.no == no)).one())


def lock_channels(session: Session, channel_ids: Sequence[str]) -> Sequence[int]:
    """Prevents their deletion until the transaction ends.

    Lock channels before rows that refer to them, in the order of a channel's deletion; otherwise the two
    deadlock.
    """
    present = (
        select(AlertChannelRow.no).where(AlertChannelRow.id.in_(channel_ids)).order_by(AlertChannelRow.no)
    )
    return session.scalars(present.with_for_update(read=True, key_share=True)).all()


def lock_named_channels(session: Session, channel_ids: Sequence[str]) -> Sequence[int]:
    """As `lock_channels`. Raises Conflict if one was deleted since it was looked up."""
    channel_nos = lock_channels(session, channel_ids)
    for channel_id in _find_unknown_channels(session, channel_ids):
        raise Conflict(
            f"Another request deleted the alert channel {channel_id} in this moment. Leave it out, or create "
            "it again."
        )
    return channel_nos


def find_channel_problems(session: Session, channel_ids: Sequence[str]) -> list[FieldProblem]:
    """Finds the places of `channels` that name no stored channel."""
    unknown = _find_unknown_channels(session, channel_ids)
    return [
        FieldProblem(f"channels[{index}]", f"there is no channel {channel_id}")
        for index, channel_id in enumerate(channel_ids)
        if channel_id in unknown
    ]


def _find_unknown_channels(session: Session, channel_ids: Sequence[str]) -> set[str]:
    stored = session.scalars(select(AlertChannelRow.id).where(AlertChannelRow.id.in_(channel_ids)))
    return set(channel_ids).difference(stored)


def page_channels(session: Session, paging: Paging) -> list[Channel]:
    return [
        _to_channel(row)
        for row in session.scalars(page_oldest(select(AlertChannelRow), AlertChannelRow.no, paging))
    ]


def create_channel(session: Session, channel_id: str, content: ChannelContent, sealer: Sealer) -> Channel:
    values = {
        "id": channel_id,
        **_list_readable_columns(content),
        "secret": _seal_secret(session, content, sealer),
    }
    insertion = (
        insert(AlertChannelRow).values(values).on_conflict_do_nothing(index_elements=[AlertChannelRow.id])
    )
    if session.scalar(insertion.returning(AlertChannelRow.no)) is None:
        raise Conflict(
            f"Another request created the alert channel {channel_id} in this moment. Send the request again."
        )
    return get_channel(session, channel_id)


def change_channel(session: Session, channel: Channel, content: ChannelContent, sealer: Sealer) -> Channel:
    """A secret that is left out stays, and equal content changes nothing. Raises Conflict if the kind
    differs.
    """
    if content.kind is not channel.kind:
        raise Conflict(
            f"The alert channel {channel.id} is of the kind {channel.kind}; delete it first, or choose "
            "another id."
        )
    values = _list_readable_columns(content, channel.host)
    sealed = _seal_secret(session, content, sealer)
    if sealed is not None:
        values["secret"] = sealed
    else:
        settings = {"url": channel.url, "host": channel.host, "to": list(channel.to)}
        config = {name: setting for name, setting in settings.items() if setting}
        if values == {"name": channel.name, "kind": channel.kind, "config": config}:
            return channel
    statement = (
        update(AlertChannelRow)
        .where(AlertChannelRow.no == channel.no)
        .values(**values, updated_at=func.now())
    )
    session.execute(statement)
    return get_channel(session, channel.id)


def delete_channel(session: Session, channel_id: str) -> None:
    """Deletes a channel with its notifications, and removes it from rules. Raises NotFound."""
    deleted = session.scalar(
        delete(AlertChannelRow).where(AlertChannelRow.id == channel_id).returning(AlertChannelRow.no)
    )
    require_present(deleted, "alert channel", channel_id)


def _to_channel(row: AlertChannelRow) -> Channel:
    return read_row(
        Channel,
        row,
        url=row.config.get("url"),
        host=row.config.get("host"),
        to=tuple(row.config.get("to", ())),
        sealed=row.secret,
    )


def _list_readable_columns(content: ChannelContent, host: str | None = None) -> dict[str, object]:
    settings = {
        "url": None if content.kind.protocol.sealed_field == "url" else content.url,
        "host": host if content.url is None else urlsplit(content.url).netloc,
        "to": list(content.to),
    }
    config = {name: setting for name, setting in settings.items() if setting}
    return {"name": content.name, "kind": content.kind, "config": config}


def _seal_secret(session: Session, content: ChannelContent, sealer: Sealer) -> bytes | None:
    secret = content.url if content.kind.protocol.sealed_field == "url" else content.secret
    if secret is None:
        return None
    begin_sealing(session)
    return sealer.seal(secret.encode())
