"""Notes about records that Evenhand did not get."""

from sqlalchemy.orm import Session

from ...domain.check import DataSet
from ...domain.groups import NEAR_TWINS
from ...sources.stored.period_counts import NotStored
from ...statistics.sentences.left_out import list_lines
from ..corrected_since import count_corrected
from ..correction import describe_corrected
from ..window.sampling import SAMPLING
from ..window.window_details import LABELS_OF_SOME
from .view_source import CountedCheck, count_lost, read_left_out

SAMPLED = (
    "Sampled at {rate}: the programs that log left {records} of the hours from {start} to {end} UTC out on "
    "purpose. Every figure and"
    " every number of records is of those that were logged."
)
REPRESENTED = (
    "Sampled at {rate}: {records} represent {represented:,}. In rates and comparisons each counts for as "
    "many as it represents; the"
    " intervals are as wide as those of {effective:,} records that all count alike. Numbers of records are "
    "of those that were logged."
)
UNDECIDED = (
    " The rates differ: figures that cannot allow for that are not computable, and evidence over time "
    "leaves out the hours in which they"
    " differ."
)
UNEQUALLY = (
    " The rates differ, so a logged record does not always represent the same number of decisions; "
    "figures do not allow for that."
)


def notes_of_check(session: Session, counted: CountedCheck, attribute: str | None) -> tuple[str, ...]:
    """Records that the headline, of this attribute, counts, and the notes on them."""
    lost = count_lost(session, counted)
    logged = read_left_out(counted, lost).get(DataSet.AS_LOGGED.value, {})
    lines = []
    if (records := logged.get(attribute or "")) is not None:
        lines = [f"{attribute}: {line}" for line in list_lines(records)]
    labels = counted.window.get(LABELS_OF_SOME)
    return (*lines, *([] if labels is None else [labels]), *notes_on_records(session, counted, lost))


def notes_on_records(session: Session, counted: CountedCheck, lost: NotStored) -> tuple[str, ...]:
    """How the records were sampled, and how many of their values were corrected since."""
    sampling, hours = counted.window.get(SAMPLING), counted.hours
    start, end = (f"{moment:%Y-%m-%d %H:%M}" for moment in (hours.start, hours.end))
    notes = []
    if sampling is not None:
        note = REPRESENTED.format(
            rate=_rates(sampling["lowest_rate"], sampling["highest_rate"]),
            records=_records(sampling["records"]),
            represented=sampling["represented"],
            effective=sampling["effective"],
        )
        notes.append(note + UNDECIDED if sampling["is_unequal"] else note)
    elif lost.sampled_out and lost.lowest_rate is not None and lost.highest_rate is not None:
        is_one = lost.lowest_rate == lost.highest_rate
        note = SAMPLED.format(
            rate=_rates(lost.lowest_rate, lost.highest_rate),
            records=_records(lost.sampled_out),
            start=start,
            end=end,
        )
        notes.append(note if is_one else note + UNEQUALLY)
    if corrected := count_corrected(session, counted.origin.no):
        notes.append(describe_corrected(corrected, counted.origin.started_at))
    return (*notes, *(f"{twin}." for twin in counted.window.get(NEAR_TWINS, ())))


def _rates(lowest: float, highest: float) -> str:
    low, high = f"{lowest:.4g}", f"{highest:.4g}"
    return low if low == high else f"{low} to {high}"


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count:,} records"
