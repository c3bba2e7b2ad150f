"""Routes of alert channels and notifications."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response

from ...access.audit.activity_queries import record_activity
from ...access.gate.caller import ServicesIn, SessionIn, WholeManager
from ...base.errors import EndpointRefused, FieldProblem, refuse
from ...calls.egress_policy import check_url
from ...web.route_declarations import (
    CONFLICT,
    ID_PATTERN,
    NOT_FOUND,
    Answers,
    NumberPaging,
    ShortNumberPaging,
    name_location,
    uuid_path,
)
from .bodies import (
    AlertChannelIn,
    AlertChannelOut,
    AlertChannelPage,
    NotificationOut,
    NotificationPage,
    OpenAlertsIn,
    OpenAlertsSentOut,
    StoredAlertChannelOut,
)
from .channel import (
    Channel,
    change_channel,
    complete_secret,
    create_channel,
    delete_channel,
    find_channel_for_change,
    find_content_problems,
    get_channel,
    page_channels,
)
from .notification_queries import count_unsent, end_pauses, get_notification, page_notifications, queue_test
from .notifier import send_open_alerts

router = APIRouter(prefix="/v1/alert-channels", tags=["alerts"])

ChannelId = Annotated[
    str, Path(description="The channel's id, chosen by you.", pattern=ID_PATTERN, examples=["on-call"])
]
NotificationId = Annotated[str, uuid_path("The notification's id.", "7b0f4a86-0c52-4a3e-8a34-9d1f3c2b7e55")]


def require_channel(_principal: WholeManager, session: SessionIn, channel_id: ChannelId) -> Channel:
    return get_channel(session, channel_id)


ChannelIn = Annotated[Channel, Depends(require_channel)]

_CREATED: Answers = {201: {"model": StoredAlertChannelOut, "description": "Created"}}
_OPEN_ALERTS_QUEUED: Answers = {
    202: {
        "model": OpenAlertsSentOut,
        "description": "Queued; the list of notifications says how far they are",
    }
}
_TEST_QUEUED = name_location(
    202, "Queued; read its address until it is sent or given up", "The notification's address."
)


@router.put("/{channel_id}", responses=_CREATED | CONFLICT)
def put_alert_channel(
    body: AlertChannelIn,
    channel_id: ChannelId,
    principal: WholeManager,
    session: SessionIn,
    services: ServicesIn,
    response: Response,
) -> StoredAlertChannelOut:
    """Sets a channel. Notifications that wait for it are tried again at once.

    Secrets that are left out stay, but a webhook that moves to another host gets a new one.
    """
    # Locked: of two requests at once the second sees what the first stored.
    before = find_channel_for_change(session, channel_id)
    content = body.to_domain()
    problems = find_content_problems(content, is_new=before is None)
    # A URL that breaks a rule already would be reported twice.
    if content.url is not None and not problems:
        try:
            check_url(content.url, services.policy)
        except EndpointRefused as error:
            problems.append(FieldProblem("url", str(error)))
    setup_problem = content.kind.protocol.find_setup_problem(services.settings)
    if setup_problem is not None:
        problems.append(FieldProblem("kind", setup_problem))
    refuse(problems)
    completed = complete_secret(content, before)
    if before is None:
        stored = create_channel(session, channel_id, completed, services.secret_box)
        response.status_code = 201
    else:
        stored = change_channel(session, before, completed, services.secret_box)
        end_pauses(session, stored)
    if stored != before:
        action = "alert_channel.created" if before is None else "alert_channel.changed"
        details = {"name": stored.name, "kind": stored.kind, "host": stored.host, "to": list(stored.to)}
        record_activity(session, principal.actor, action, subject=channel_id, details=details)
    # Shown once, and only if it was made here.
    secret = completed.secret if content.secret is None else None
    alerts_not_sent = sum(
        waiting.alerts for waiting in count_unsent(session) if waiting.channel_id == channel_id
    )
    return StoredAlertChannelOut.from_object(stored, secret=secret, open_alerts_not_sent=alerts_not_sent)


@router.get("")
def list_alert_channels(
    _principal: WholeManager, session: SessionIn, paging: ShortNumberPaging
) -> AlertChannelPage:
    """Returns the channels, oldest first."""
    return AlertChannelPage.of(page_channels(session, paging), paging)


@router.get("/{channel_id}", responses=NOT_FOUND)
def read_alert_channel(channel: ChannelIn) -> AlertChannelOut:
    """Returns one channel."""
    return AlertChannelOut.from_object(channel)


@router.delete("/{channel_id}", status_code=204, responses=NOT_FOUND)
def delete_alert_channel(channel: ChannelIn, principal: WholeManager, session: SessionIn) -> None:
    """Deletes a channel, with its waiting and its past notifications. Rules that named it go on without
    it.
    """
    delete_channel(session, channel.id)
    record_activity(session, principal.actor, "alert_channel.deleted", subject=channel.id)


@router.post("/{channel_id}/tests", status_code=202, responses=_TEST_QUEUED | NOT_FOUND)
def test_alert_channel(
    channel: ChannelIn, principal: WholeManager, session: SessionIn, response: Response
) -> NotificationOut:
    """Sends a test notification, in one attempt. If it is sent, notifications that wait for the channel
    are tried again at once.
    """
    notification = queue_test(session, channel)
    record_activity(session, principal.actor, "alert_channel.tested", subject=channel.id)
    response.headers["Location"] = f"/v1/alert-channels/{channel.id}/notifications/{notification.id}"
    return NotificationOut.from_object(notification)


@router.post(
    "/{channel_id}/notifications",
    status_code=202,
    operation_id="sendOpenAlerts",
    responses=_OPEN_ALERTS_QUEUED | NOT_FOUND,
)
def send_open_alerts_to_channel(
    channel: ChannelIn, principal: WholeManager, session: SessionIn, body: OpenAlertsIn | None = None
) -> OpenAlertsSentOut:
    """Sends the channel the open alerts of the rules that name it, as notifications `opened`.

    Alerts that were sent to it before are left out unless `again` is true, so the same request again sends
    nothing twice.
    """
    sent = send_open_alerts(session, channel, again=body is not None and body.again)
    if sent.queued:
        record_activity(
            session,
            principal.actor,
            "alert_channel.open_alerts_sent",
            subject=channel.id,
            details={"alerts": sent.queued},
        )
    return sent


@router.get("/{channel_id}/notifications", responses=NOT_FOUND)
def list_notifications(channel: ChannelIn, session: SessionIn, paging: NumberPaging) -> NotificationPage:
    """Returns the notifications of the channel, sent and waiting, newest first."""
    return NotificationPage.of(page_notifications(session, channel, paging), paging)


@router.get("/{channel_id}/notifications/{notification_id}", responses=NOT_FOUND)
def read_notification(
    channel: ChannelIn, notification_id: NotificationId, session: SessionIn
) -> NotificationOut:
    """Returns one notification and the state of its delivery."""
    return NotificationOut.from_object(get_notification(session, channel, notification_id))
