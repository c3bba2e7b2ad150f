"""What a story found, as a small table."""

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.crashes.ledger import Ledger
from tests.crashes.truth import CheckTruth, RecordCounts


@dataclass
class Report:
    """The lines of a table, and everything that should not have been."""

    title: str
    lines: list[tuple[str, object]] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)

    def add(self, name: str, value: object) -> None:
        """One line."""
        self.lines.append((name, value))

    def add_seconds(self, name: str, seconds: Sequence[float]) -> None:
        """Median and longest of some durations."""
        if seconds:
            self.add(name, f"median {statistics.median(seconds):.1f} s, longest {max(seconds):.1f} s")

    def add_records(self, counts: RecordCounts, ledger: Ledger) -> None:
        """What became of records and labels."""
        self.add("records sent", counts.sent)
        self.add("records acknowledged", counts.acknowledged)
        self.add("records present", counts.present)
        self.add("  lost (acknowledged, not present)", counts.lost)
        self.add("  present twice", counts.duplicated)
        self.add("  key without its record, or the reverse", counts.inconsistent)
        self.add("  never sent", counts.never_sent)
        self.add("  other content than sent", counts.altered)
        self.add("labels acknowledged / present / lost", f"{counts.labels_acknowledged} / {counts.labels_present} / {counts.labels_lost}")
        self.add("requests without an answer", ledger.unanswered)
        self.add("  records found stored by the repetition", ledger.answers_lost)
        self.add("records sent again on purpose, found stored", ledger.duplicates)
        self.add("answers that should not come", len(ledger.wrong))
        self.violations += counts.violations + ledger.wrong

    def add_checks(self, truth: CheckTruth, *, looks: int, wrong: Sequence[str], may_fail: bool = False) -> None:
        """What became of checks. If they `may_fail`, each that did must say why."""
        succeeded = truth.in_state("succeeded")
        taken_over = [check for check in succeeded if check.attempts > 1]
        self.add("checks / succeeded", f"{len(truth.checks)} / {len(succeeded)}")
        self.add("  after an interruption", f"{len(taken_over)} (most attempts: {max((c.attempts for c in truth.checks), default=0)})")
        self.add("looks at all checks meanwhile", looks)
        self.add("  half-written checks seen", len(wrong))
        self.violations += wrong
        ended_badly = [check for check in truth.checks if check.state != "succeeded" and not (may_fail and check.reason)]
        self.violations += [f"check {check.id} ended {check.state}: {check.reason}" for check in ended_badly]
        if may_fail:
            reasons = Counter(check.reason for check in truth.in_state("failed"))
            self.add("  failed", "; ".join(f"{count} × {reason}" for reason, count in reasons.most_common(5)) or 0)

    def text(self) -> str:
        """The table, and the violations below it."""
        width = max(len(name) for name, _ in self.lines)
        table = [f"  {name:<{width}}  {value}" for name, value in self.lines]
        found = [f"  VIOLATION: {text}" for text in self.violations[:20]] or ["  no violation"]
        return "\n".join([self.title, *table, *found, ""])
