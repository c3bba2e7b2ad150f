"""Groups in words: display names, or else the attribute with the group's label."""

from collections.abc import Sequence
from dataclasses import replace

from ..base.frozen import frozen
from ..base.values import TOGETHER
from .check import Measurement
from .monitor import Comparison, DisplayNames, Monitor, MonitoredAttribute, split_group

_SEPARATOR = ", "
_PHRASES = (
    "aged ",
    "born ",
    "from ",
    "in ",
    "living ",
    "of ",
    "over ",
    "paid ",
    "under ",
    "with ",
    "without ",
    "working ",
)


@frozen
class GroupWords:
    names: DisplayNames = DisplayNames()
    attributes: tuple[MonitoredAttribute, ...] = ()

    @classmethod
    def of(cls, monitor: Monitor | None) -> "GroupWords":
        """Returns the words of that monitor; without one, labels as they are."""
        return cls() if monitor is None else cls(monitor.names, monitor.attributes)

    @property
    def favourable(self) -> str:
        """The favourable outcome as a verb: `are rated No Risk`."""
        return (
            "get the favourable outcome" if self.names.favourable is None else f"are {self.names.favourable}"
        )

    def label(self, attribute: str, group: str) -> str:
        """Returns a group for a table: its display names, or the label as it is."""
        return " ".join(self._find_names(attribute, group)) or group

    def is_named(self, attribute: str, group: str) -> bool:
        return bool(self._find_names(attribute, group))

    def rename(self, measurement: Measurement) -> Measurement:
        if measurement.attribute is None or not self.names.groups:
            return measurement
        details = measurement.details
        named = {}
        for side in ("subject", "monitored", "reference"):
            group = getattr(details, side)
            named[side] = group and (self._say_names(measurement.attribute, group) or group)
        return replace(measurement, details=details.changed(**named))

    def parts(self, attribute: str, group: str) -> tuple[str, ...]:
        """Returns the names or labels of a group by feature; one only, where the label cannot be divided."""
        divided = self._divide(attribute, group)
        return (
            (group,)
            if divided is None
            else tuple(self.names.find(feature, label) or label for feature, label in divided)
        )

    def subject(self, attribute: str, group: str) -> str:
        """Returns a group for a sentence, in the plural: `women under 26`, or `records with sex female`."""
        return self._say_names(attribute, group) or f"records with {self.condition(attribute, group)}"

    def role(self, attribute: str, group: str) -> str:
        """Returns a group as what a record counts as: `women`, or `sex female`."""
        return self._say_names(attribute, group) or self.condition(attribute, group)

    def condition(self, attribute: str, group: str) -> str:
        """Returns the group as a condition: `sex female and age 18-25`."""
        return " and ".join(
            f"{feature} {label}" for feature, label in self._divide(attribute, group) or [(attribute, group)]
        )

    def _say_names(self, attribute: str, group: str) -> str:
        names = self._find_names(attribute, group)
        return f"people {' '.join(names)}" if names and names[0].startswith(_PHRASES) else " ".join(names)

    def _find_names(self, attribute: str, group: str) -> Sequence[str]:
        """Returns the display names, those that name people first; none unless every part has one."""
        names = self._name_parts(attribute, group)
        if names or _SEPARATOR not in group:
            return names
        alternatives = [" ".join(self._name_parts(attribute, label)) for label in group.split(_SEPARATOR)]
        return [" or ".join(alternatives)] if all(alternatives) else []

    def _name_parts(self, attribute: str, group: str) -> list[str]:
        display_names = [
            self.names.find(feature, label) for feature, label in self._divide(attribute, group) or ()
        ]
        # "Aged 18–25 women" is no English, whichever attribute comes first.
        names = sorted(
            (name for name in display_names if name is not None), key=lambda name: name.startswith(_PHRASES)
        )
        return names if len(names) == len(display_names) else []

    def _divide(self, attribute: str, group: str) -> list[tuple[str, str]] | None:
        """Returns the label of the group in each feature; None where it cannot be divided, or in several
        ways.
        """
        features = Comparison.from_label(attribute).features
        if len(features) == 1:
            return [(features[0], group)]
        by_feature = {attribute.feature: attribute for attribute in self.attributes}
        # The monitor may have changed since the check that named the group.
        divisions = [tuple(group.split(TOGETHER))]
        if all(feature in by_feature for feature in features):
            divisions = split_group(group, [by_feature[feature] for feature in features])
        # Divided in two ways, the label would name other people.
        [labels, *others] = divisions or [()]
        return None if others or len(labels) != len(features) else list(zip(features, labels, strict=True))
