"""Comments on alerts, oldest first."""

from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from ...domain.alerts import Alert
from ...domain.paging import Paging
from ...errors import Conflict
from ...frozen import frozen
from ..database.paging import page_oldest
from ..database.rows import read_row
from ..tables import AlertCommentRow

MAX_COMMENTS = 1_000


@frozen(kw_only=True)
class AlertComment:
    """One comment. `author` is a key's id, or `user:` and a name."""

    no: int
    id: str
    author: str
    text: str
    created_at: datetime


def put_comment(session: Session, alert: Alert, comment_id: str, *, by: str, text: str) -> tuple[AlertComment, bool]:
    """Returns the comment of that id, and whether this call stored it."""
    values = {"alert_no": alert.no, "id": comment_id, "author": by, "text": text}
    once = insert(AlertCommentRow).values(values).on_conflict_do_nothing(index_elements=[AlertCommentRow.alert_no, AlertCommentRow.id])
    is_new = session.scalar(once.returning(AlertCommentRow.no)) is not None
    if is_new and count_comments(session, alert) > MAX_COMMENTS:
        raise Conflict(f"Alert {alert.id} has {MAX_COMMENTS:,} comments, which is the most that one may have.")
    found = session.scalars(select(AlertCommentRow).where(AlertCommentRow.alert_no == alert.no, AlertCommentRow.id == comment_id)).one()
    if (found.author, found.text) != (by, text):
        raise Conflict(f"Alert {alert.id} has another comment of the id {comment_id}. Send a new id.")
    return read_row(AlertComment, found), is_new


def comments_page(session: Session, alert: Alert, paging: Paging) -> list[AlertComment]:
    wanted = select(AlertCommentRow).where(AlertCommentRow.alert_no == alert.no)
    return [read_row(AlertComment, row) for row in session.scalars(page_oldest(wanted, AlertCommentRow.no, paging))]


def count_comments(session: Session, alert: Alert) -> int:
    return session.scalars(select(func.count()).select_from(AlertCommentRow).where(AlertCommentRow.alert_no == alert.no)).one()
