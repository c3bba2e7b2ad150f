"""Scans and candidates in words and numbers, as they are shown: never with counts of fewer than ten records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from ...clock import HOUR
from ...domain.display_names import DisplayNames
from ...evidence.nulls import UnfairSide
from ...scan.confirming import EXPIRY_HOURS, Candidate
from ...scan.search import MIN_RECORDS
from ...store.evidence.eras import find_present_era
from ...store.subgroups.candidates import StoredCandidate, candidate_numbers, first_candidates, later_records, page_of_candidates
from ...store.subgroups.scans import SubgroupScan
from .binning import Bins
from .following import limit_of, subgroup_of
from .scanning import MAX_P_VALUE

_GRAVEST = ("confirmed", "candidate", "expired")


@dataclass(frozen=True, slots=True)
class _DirectionWords:
    """Phrases that say what a scan in one direction looks for."""

    does: str
    most: str
    than: str


_WORDS: Mapping[UnfairSide, _DirectionWords] = {
    UnfairSide.BELOW: _DirectionWords("falls short", "falls short most", "less than"),
    UnfairSide.ABOVE: _DirectionWords("is ahead", "is furthest ahead", "more than"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCandidate:
    """One candidate. `values` are those that belong to the subgroup, by feature; other features do not restrict it.

    The counts are those of its scan. `later_records` are the records of the subgroup after it, None while there are fewer than
    `MIN_RECORDS`. `log_evidence` and `log_threshold` are natural logarithms of factors.
    """

    number: int
    scan_id: str
    state: str
    values: Mapping[str, Sequence[str]]
    direction: UnfairSide
    limit: float
    records: int
    favourable: int
    others_records: int
    others_favourable: int
    p_value: float
    subsets: int
    found_at: datetime
    expires_at: datetime
    confirmed_at: datetime | None
    until: datetime
    log_evidence: float
    log_threshold: float
    later_records: int | None
    words: str


def look_at_candidates(
    session: Session, deployment_no: int, *, after_number: int, limit: int, names: DisplayNames | None = None
) -> list[ShownCandidate]:
    """Returns at most `limit` of the deployment's candidates after that number, by number. `names` word their sentences."""
    stored = page_of_candidates(session, deployment_no, after_number=after_number, limit=limit)
    return _show(session, deployment_no, stored, names or DisplayNames())


def look_at_gravest(session: Session, deployment_no: int, *, limit: int, names: DisplayNames | None = None) -> list[ShownCandidate]:
    """Returns at most `limit` of the deployment's candidates: the confirmed ones, then those without a result, then the expired ones."""
    stored = first_candidates(session, deployment_no, states=_GRAVEST, limit=limit)
    return _show(session, deployment_no, stored, names or DisplayNames())


def _show(session: Session, deployment_no: int, stored: Sequence[StoredCandidate], names: DisplayNames) -> list[ShownCandidate]:
    present_era_no = find_present_era(session, deployment_no)
    # Of the hours that the states are computed from, not of those that are being counted now.
    records = later_records(session, [one.no for one in stored])
    found = []
    for one in stored:
        later = records.get(one.no, 0)
        result = one.result
        found.append(
            ShownCandidate(
                number=one.number,
                scan_id=one.scan_id,
                state=one.state,
                values=_name_values(one),
                direction=UnfairSide(one.direction),
                limit=one.limit,
                records=result["inside_records"],
                favourable=result["inside_favourable"],
                others_records=result["others_records"],
                others_favourable=result["others_favourable"],
                p_value=result["p_value"],
                subsets=result["subsets"],
                found_at=one.born_at,
                expires_at=one.born_at + EXPIRY_HOURS * HOUR,
                confirmed_at=one.confirmed_at,
                until=one.until,
                log_evidence=one.log_evidence,
                log_threshold=Candidate(one.number, subgroup_of(one.values), limit_of(one), 0).log_threshold,
                later_records=later if later >= MIN_RECORDS else None,
                words=_say_candidate(one, names, is_followed=present_era_no == one.era_no),
            )
        )
    return found


def say_scan(scan: SubgroupScan, numbers: Mapping[int, int]) -> str:
    """Returns the scan in words. `numbers` are those of candidates by their rows."""
    if scan.state == "queued":
        return "The scan waits for a worker."
    if scan.state == "running":
        return "The scan is running."
    if scan.result is None or scan.bins is None:
        return scan.reason or "The scan failed."
    features = [one["feature"] for one in scan.bins]
    subsets, records = scan.result["subsets"], scan.result["records"]
    words = _WORDS[UnfairSide(scan.direction)]
    searched = f"{subsets:,} {'subgroup' if subsets == 1 else 'subgroups'} by {', '.join(features)} searched in {records:,} records"
    if scan.features is not None and len(features) < len(scan.features):
        searched += f" (too many combinations of values: left out {', '.join(scan.features[len(features) :])})"
    if scan.candidate_no is None and scan.result["p_value"] <= MAX_P_VALUE:
        return (
            f"{searched}. The one that {words.most} (p = {scan.result['p_value']:.3f}) is not shown: it, or all others together, has"
            f" fewer than {MIN_RECORDS} records."
        )
    if scan.candidate_no is None:
        return f"{searched}. None {words.does} by more than chance explains (p = {scan.result['p_value']:.3f})."
    # A subgroup that was known already keeps its number.
    number = numbers.get(scan.candidate_no)
    return f"{searched}. One {words.does} by more than chance explains (p = {scan.result['p_value']:.3f}): candidate {number}."


def candidate_numbers_of(session: Session, scans: Sequence[SubgroupScan]) -> Mapping[int, int]:
    """Returns the candidate's number by its row, for those that these scans found."""
    return candidate_numbers(session, [scan.candidate_no for scan in scans if scan.candidate_no is not None])


def _name_values(one: StoredCandidate) -> dict[str, Sequence[str]]:
    bins = [Bins.from_json(stored) for stored in one.bins]
    chosen = zip(bins, one.values, strict=True)
    return {each.feature: [each.labels[place] for place in places] for each, places in chosen if places is not None}


def _say_candidate(one: StoredCandidate, names: DisplayNames, *, is_followed: bool) -> str:
    """Returns the candidate in words: what was searched, what was found, and whether later hours confirm it."""
    result, words = one.result, _WORDS[UnfairSide(one.direction)]
    called = {feature: [names.find(feature, label) or label for label in labels] for feature, labels in _name_values(one).items()}
    named = "; ".join(f"{feature} {' or '.join(labels)}" for feature, labels in called.items())
    rate, others = (result[f"{side}_favourable"] / result[f"{side}_records"] for side in ("inside", "others"))
    found = (
        f"Candidate {one.number}, the one of {result['subsets']:,} subgroups that {words.most}: {named}."
        f" {rate:.1%} of {result['inside_records']:,} records are favourable, of the others {others:.1%} (p = {result['p_value']:.3f})."
    ).replace("%", " %")
    if one.state == "confirmed" and one.confirmed_at is not None:
        return (
            f"{found} Confirmed at {one.confirmed_at:%Y-%m-%d %H:%M}: the hours after the scan show that its favourable rate is"
            f" {words.than} {one.limit:g} times that of the others."
        )
    if one.state == "expired":
        return f"{found} It expired: later hours did not confirm it within {EXPIRY_HOURS // 24} days."
    if not is_followed:
        return f"{found} It was not confirmed, and no further hour counts for it: the monitor or the model revision has changed."
    return f"{found} It is only a candidate until later hours confirm it."
