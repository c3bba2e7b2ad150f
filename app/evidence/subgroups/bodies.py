"""Scans for subgroups as bodies."""

from datetime import datetime
from typing import Any

from pydantic import Field

from ...checks.views.measurement_bodies import RECORDS_MEANING
from ...deployments.monitor.bodies import FeatureName, GroupRuleOut
from ...domain.monitor import Monitor
from ...statistics.e_values.nulls import UnfairSide
from ...statistics.scan.scan_results import ScannedSubgroup
from ...web.body import FollowingCursor, FromText, In, Out, PageOut, example, read_from
from .scan_queries import SubgroupScan, read_result
from .scan_request import SCANNED_HOURS
from .scan_sentence import say_scan
from .watch_group import find_watched

_SCAN: dict[str, Any] = {
    "id": "6a1f0c9e-2b7d-4c58-9d3e-1f2a3b4c5d6e",
    "state": "succeeded",
    "words": "All 10,080 records counted. 105 groups by age, region searched in 10,080 records. One falls "
    "short by more than chance explains (p = 0.005): age up to 33 and region north. 27.4 % of its 875 "
    "records are favourable, of all others 51.6 %.",
    "features": ["age", "region"],
    "hours": 720,
    "direction": "below",
    "from": "2026-11-13T09:00:00Z",
    "to": "2026-11-20T09:00:00Z",
    "counted": {
        "of": 10080,
        "counted": 10080,
        "left_out": [],
        "groups": [],
        "cautions": [],
        "text": "All 10,080 records counted.",
    },
    "records": 10080,
    "favourable": 4990,
    "subsets": 105,
    "p_value": 0.005,
    "group": {
        "label": "age up to 33 and region north",
        "rule": {
            "any_of": [
                [
                    {
                        "feature": "age",
                        "values": [],
                        "intervals": [{"above": None, "up_to": 33}],
                        "excluded": None,
                        "or_missing": False,
                    },
                    {
                        "feature": "region",
                        "values": ["north"],
                        "intervals": [],
                        "excluded": None,
                        "or_missing": False,
                    },
                ]
            ]
        },
        "records": 875,
        "favourable": 240,
        "others_records": 9205,
        "others_favourable": 4750,
        "watched_as": None,
    },
    "reason": None,
    "requested_by": "key:ops",
    "created_at": "2026-11-20T09:10:00Z",
    "finished_at": "2026-11-20T09:10:31Z",
}
_DIRECTION = (
    "`below`: groups that get the favourable outcome less often than all others; `above`: more often."
)
_FEATURES = (
    "1 to 8 features or meta fields; null: the monitored attributes, then the features in the order of the "
    "schema. If they have more than 10,000 combinations of values, the last ones are left out."
)


class SubgroupScanIn(In):
    """A scan: which records it reads, by which features, and in which direction."""

    model_config = example({"features": ["age", "region"], "hours": 720})

    features: list[FeatureName] | None = Field(default=None, description=_FEATURES)
    hours: int = Field(default=SCANNED_HOURS, ge=1, le=SCANNED_HOURS)
    """Hours before the scan whose records it reads."""

    direction: FromText[UnfairSide] = Field(default=UnfairSide.BELOW, description=_DIRECTION)


class FoundGroupOut(Out):
    """The group that a scan found."""

    label: str
    """The rule in words."""

    rule: GroupRuleOut
    """Who is in the group: the `rule` of a monitor's attribute."""

    records: int
    """Records of the group that the scan read; the other counts are of the scan, too."""

    favourable: int
    others_records: int
    others_favourable: int
    watched_as: str | None
    """The attribute that watches the group; null if none does. `POST …/fairness-monitor/found-groups`
    adds it."""

    @classmethod
    def of(cls, group: ScannedSubgroup, monitor: Monitor | None) -> "FoundGroupOut":
        watched = find_watched(monitor, group.rule)
        return cls.from_object(group, label=group.rule.label, watched_as=watched and watched.feature)


class SubgroupScanOut(Out):
    """One scan: what it searched, and the group it found, if any."""

    model_config = example(_SCAN)

    id: str
    state: str
    """`queued`, `running`, `succeeded` or `failed`."""

    words: str
    features: list[str] | None
    """The features that were searched; before the end those that were asked for, if any."""

    hours: int
    """Hours that were asked for."""

    direction: UnfairSide
    from_: datetime | None = read_from("span_start", serialization_alias="from")
    """The start of the hours that were read."""

    to: datetime | None = read_from("span_end")
    counted: dict[str, Any] | None = Field(description=RECORDS_MEANING)
    records: int | None
    favourable: int | None
    subsets: int | None
    """The number of subgroups that were searched."""

    p_value: float | None
    """How often chance alone would find as much in one scan; a group is named up to 0.05."""

    group: FoundGroupOut | None
    """Null if none is further out than chance explains, or if it has too few records."""

    reason: str | None
    """Why it failed."""

    requested_by: str = read_from("created_by")
    created_at: datetime
    finished_at: datetime | None

    @classmethod
    def of(cls, scan: SubgroupScan, monitor: Monitor | None) -> "SubgroupScanOut":
        """Body of a scan; `monitor` is the present one."""
        result = read_result(scan)
        group = result and result.group
        return cls.from_object(
            scan,
            words=say_scan(scan),
            features=scan.features if result is None else result.features,
            counted=(scan.result or {}).get("counted"),
            **{name: getattr(result, name, None) for name in ("records", "favourable", "subsets", "p_value")},
            group=group and FoundGroupOut.of(group, monitor),
        )


class SubgroupScanPage(PageOut):
    """Scans of a deployment, newest first."""

    scans: list[SubgroupScanOut]
    next_cursor: FollowingCursor
