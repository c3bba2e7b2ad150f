"""Answers of a model to the parts of an attribution, for another worker to go on."""

from sqlalchemy import delete, select, text
from sqlalchemy.orm import Session

from ..tables import AttributionAnswerRow, AttributionRow

_KEEP = text("""
    INSERT INTO attribution_answers (attribution_no, part, question, outcomes)
    SELECT no, :part, :question, :outcomes FROM attributions WHERE no = :attribution_no FOR KEY SHARE
    ON CONFLICT (attribution_no, part) DO UPDATE SET question = excluded.question, outcomes = excluded.outcomes
""")
"""No lease fences it: an answer is true, whichever worker asked."""


def read_answers(session: Session, attribution_no: int, part: int, *, question: bytes) -> bytes | None:
    """Returns that part's outcomes, one byte each; None if not answered, or asked otherwise."""
    key = (AttributionAnswerRow.attribution_no == attribution_no, AttributionAnswerRow.part == part)
    return session.scalar(select(AttributionAnswerRow.outcomes).where(*key, AttributionAnswerRow.question == question))


def keep_answers(session: Session, attribution_no: int, part: int, *, question: bytes, outcomes: bytes) -> None:
    session.execute(_KEEP, {"attribution_no": attribution_no, "part": part, "question": question, "outcomes": outcomes})


def forget_answers(session: Session) -> None:
    """Deletes the answers of ended attributions."""
    over = select(AttributionRow.no).where(AttributionRow.claimable_at.is_(None))
    deletion = delete(AttributionAnswerRow).where(AttributionAnswerRow.attribution_no.in_(over))
    session.execute(deletion)
