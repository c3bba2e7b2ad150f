"""Scans for subgroups, their candidates and settings as bodies."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from ...evidence.nulls import UnfairSide
from ...scan.confirming import USUAL_LIMITS
from ...store.subgroups.scans import SubgroupScan, SubgroupSettings
from ...tracking.subgroups.looking import ShownCandidate, say_scan
from ...tracking.subgroups.requests import MAX_LIMIT, SCANNED_HOURS
from .base import In, Out, example
from .monitors import FeatureName

_SCAN: dict[str, Any] = {
    "id": "6a1f0c9e-2b7d-4c58-9d3e-1f2a3b4c5d6e",
    "state": "succeeded",
    "words": "105 subgroups by age, region searched in 10,080 records. "
    "One falls short by more than chance explains (p = 0.005): candidate 1.",
    "features": ["age", "region"],
    "hours": 720,
    "direction": "below",
    "limit": 0.8,
    "from": "2026-11-13T09:00:00Z",
    "to": "2026-11-20T09:00:00Z",
    "records": 10080,
    "favourable": 4990,
    "subsets": 105,
    "p_value": 0.005,
    "candidate": 1,
    "reason": None,
    "requested_by": "key:ops",
    "created_at": "2026-11-20T09:10:00Z",
    "finished_at": "2026-11-20T09:10:31Z",
}
_CANDIDATE: dict[str, Any] = {
    "number": 1,
    "scan_id": "6a1f0c9e-2b7d-4c58-9d3e-1f2a3b4c5d6e",
    "state": "confirmed",
    "words": "Candidate 1, the one of 105 subgroups that falls short most: age up to 33; region north. 27.4 % of 875 records are"
    " favourable, of the others 50.5 % (p = 0.005). Confirmed at 2026-11-21 01:00: the hours after the scan show that its favourable rate"
    " is less than 0.8 times that of the others.",
    "values": {"age": ["up to 33"], "region": ["north"]},
    "direction": "below",
    "limit": 0.8,
    "records": 875,
    "favourable": 240,
    "others_records": 9205,
    "others_favourable": 4750,
    "p_value": 0.005,
    "subsets": 105,
    "found_at": "2026-11-20T09:00:00Z",
    "expires_at": "2026-12-20T09:00:00Z",
    "confirmed_at": "2026-11-21T01:00:00Z",
    "until": "2026-11-21T09:00:00Z",
    "later_records": 84,
    "log_evidence": 4.1,
    "log_threshold": 3.49,
}
_SETTINGS: dict[str, Any] = {"nightly": True, "features": ["age", "region"], "direction": "below", "limit": 0.8}
_DIRECTION = "`below`: groups that get the favourable outcome less often than all others; `above`: more often."
_LIMIT = (
    "A subgroup is confirmed if its favourable rate is less than this times that of all others (at most 1), in the direction `above` more"
    " than this times (at least 1)."
)
_FEATURES = (
    "1 to 8 features or meta fields; null: the monitored attributes, then the features in the order of the schema. If they have more than"
    " 10,000 combinations of values, the last ones are left out."
)


class SubgroupScanIn(In):
    """A scan. Members that are left out are those of the settings."""

    model_config = example({"features": ["age", "region"], "hours": 720})

    features: list[FeatureName] | None = Field(default=None, description=_FEATURES)
    hours: int = Field(default=SCANNED_HOURS, ge=1, le=SCANNED_HOURS, description="Hours before the scan whose records it reads.")
    direction: Annotated[UnfairSide, Field(strict=False)] | None = Field(default=None, description=_DIRECTION)
    limit: float | None = Field(
        default=None, gt=0, le=MAX_LIMIT, description=f"{_LIMIT} With another direction than that of the settings 0.8 or 1.25."
    )

    def to_settings(self, stored: SubgroupSettings) -> SubgroupSettings:
        """Returns the settings of this scan, not yet checked; `stored` are those of the deployment."""
        direction = UnfairSide(stored.direction) if self.direction is None else self.direction
        usual = stored.limit if direction == stored.direction else USUAL_LIMITS[direction]
        return SubgroupSettings(
            features=stored.features if self.features is None else tuple(self.features),
            direction=direction.value,
            limit=usual if self.limit is None else self.limit,
        )


class SubgroupSettingsIn(In):
    """Settings of a deployment's scans."""

    model_config = example(_SETTINGS)

    nightly: bool = Field(default=False, description="Scans once a night, after 2:00 UTC.")
    features: list[FeatureName] | None = Field(default=None, description=_FEATURES)
    direction: Annotated[UnfairSide, Field(strict=False)] = Field(default=UnfairSide.BELOW, description=_DIRECTION)
    limit: float | None = Field(default=None, gt=0, le=MAX_LIMIT, description=f"{_LIMIT} Left out: 0.8, or 1.25 in the direction `above`.")

    def to_settings(self) -> SubgroupSettings:
        """Returns the settings, not yet checked."""
        return SubgroupSettings(
            nightly=self.nightly,
            features=None if self.features is None else tuple(self.features),
            direction=self.direction.value,
            limit=USUAL_LIMITS[self.direction] if self.limit is None else self.limit,
        )


class SubgroupSettingsOut(Out):
    """Settings of a deployment's scans."""

    model_config = example(_SETTINGS)

    nightly: bool
    features: list[str] | None
    direction: UnfairSide
    limit: float

    @classmethod
    def of(cls, settings: SubgroupSettings) -> "SubgroupSettingsOut":
        """Returns the body of the settings."""
        features = None if settings.features is None else list(settings.features)
        return cls(nightly=settings.nightly, features=features, direction=UnfairSide(settings.direction), limit=settings.limit)


class SubgroupScanOut(Out):
    """One scan: what it searched, and the candidate it found, if any."""

    model_config = example(_SCAN)

    id: str
    state: str = Field(description="`queued`, `running`, `succeeded` or `failed`.")
    words: str
    features: list[str] | None = Field(description="The features that were searched; before the end those that were asked for, if any.")
    hours: int = Field(description="Hours that were asked for.")
    direction: UnfairSide
    limit: float
    from_: datetime | None = Field(serialization_alias="from", description="The start of the hours that were read.")
    to: datetime | None
    records: int | None
    favourable: int | None
    subsets: int | None = Field(description="The number of subgroups that were searched.")
    p_value: float | None = Field(
        description="How often chance alone would find as much in one scan; up to 0.05 the subgroup becomes a candidate."
    )
    candidate: int | None = Field(description="The number of the candidate that it found, or found again.")
    reason: str | None = Field(description="Why it failed.")
    requested_by: str
    created_at: datetime
    finished_at: datetime | None

    @classmethod
    def of(cls, scan: SubgroupScan, numbers: Mapping[int, int]) -> "SubgroupScanOut":
        """Returns the body of a scan; `numbers` are those of candidates by their rows."""
        result = scan.result or {}
        return cls(
            id=scan.id,
            state=scan.state,
            words=say_scan(scan, numbers),
            features=scan.features if scan.bins is None else [one["feature"] for one in scan.bins],
            hours=scan.hours,
            direction=UnfairSide(scan.direction),
            limit=scan.limit,
            from_=scan.span_start,
            to=scan.span_end,
            records=result.get("records"),
            favourable=result.get("favourable"),
            subsets=result.get("subsets"),
            p_value=result.get("p_value"),
            candidate=None if scan.candidate_no is None else numbers.get(scan.candidate_no),
            reason=scan.reason,
            requested_by=scan.created_by,
            created_at=scan.created_at,
            finished_at=scan.finished_at,
        )


class SubgroupScanPage(Out):
    """Scans of a deployment, newest first."""

    model_config = example({"scans": [_SCAN], "next_cursor": None})

    scans: list[SubgroupScanOut]
    next_cursor: str | None = Field(description="Send it as `cursor` for what follows; null at the end.")


class SubgroupCandidateOut(Out):
    """One subgroup that a scan found. Only `confirmed` says that later hours show it to be beyond the limit."""

    model_config = example(_CANDIDATE)

    number: int = Field(description="Its number among all candidates of the deployment; never used again.")
    scan_id: str
    state: str = Field(description="`candidate`, `confirmed`, or `expired`: not confirmed within 30 days.")
    words: str
    values: dict[str, list[str]] = Field(
        description="The values that belong to the subgroup, by feature; other features do not restrict it."
    )
    direction: UnfairSide = Field(description="`below`: it is favourable less often than all others; `above`: more often.")
    limit: float
    records: int = Field(description="Records of the subgroup that its scan read; the other counts are of the scan, too.")
    favourable: int
    others_records: int
    others_favourable: int
    p_value: float
    subsets: int = Field(description="The number of subgroups that the scan searched.")
    found_at: datetime = Field(description="Only hours after this can confirm it.")
    expires_at: datetime
    confirmed_at: datetime | None
    until: datetime = Field(description="The end of the last hour that is counted for it.")
    later_records: int | None = Field(description="Records of the subgroup after the scan; null while there are fewer than ten.")
    log_evidence: float = Field(description="Natural logarithm of the evidence of the later hours that it is beyond the limit.")
    log_threshold: float = Field(description="Natural logarithm of the evidence that confirms it: π²·number²/(6·0.05).")

    @classmethod
    def of(cls, one: ShownCandidate) -> "SubgroupCandidateOut":
        """Returns the body of a candidate."""
        return cls.from_object(one, values={name: list(labels) for name, labels in one.values.items()})


class SubgroupCandidatePage(Out):
    """Candidates of a deployment, by number."""

    model_config = example({"candidates": [_CANDIDATE], "next_cursor": None})

    candidates: list[SubgroupCandidateOut]
    next_cursor: str | None = Field(description="Send it as `cursor` for what follows; null at the end.")
