# ruff: noqa: PLR2004 - the numbers are those of the worlds, and of what must come out
"""Simulated models that answer some records differently: how often the flip rate beyond repeats holds the share that is the attribute's."""

from collections.abc import Iterator

from tests.builders.noisy_models import NoisyModel, count_covered, measure_flips
from tests.builders.trials import Trial, run_worlds

MODELS = (
    *(NoisyModel(flips, tossed) for flips, tossed in ((0.0, 0.4), (0.1, 0.4), (0.3, 0.2), (0.1, 0.1), (0.1, 0.0))),
    NoisyModel(0.1, 0.4, references=2),
    NoisyModel(0.1, 0.4, references=5),
)


def coverage(windows: int, seed: int) -> Iterator[Trial]:
    """2,000 records, 100 of them asked again; of 1 in 40 answers that differ, 100 repeats show none in 8 % of the windows."""
    for model, least in (*((model, 0.93) for model in MODELS), (NoisyModel(0.05, 0.05), 0.88)):
        alone, beyond = (count / windows for count in count_covered(model, windows, seed))
        name = f"{model.flips:.0%} flip, {model.tossed:.0%} are tossed, {model.references} reference value(s)"
        yield Trial(name, f"{beyond:.1%} (alone {alone:.1%})", f"{least:.0%} to 98 %", least <= beyond <= 0.98)


def false_verdicts(windows: int, seed: int) -> Iterator[Trial]:
    """A model that does not know the attribute, with a limit of 0.05 on flips."""
    for records in (400, 2000, 10_000):
        figures = [measure_flips(NoisyModel(0.0, 0.4), records, seed + number) for number in range(windows)]
        alone, beyond = (sum((each[which].lower or 0) > 0.05 for each in figures) / windows for which in (0, 1))
        yield Trial(f"unfair by 0.05, {records:,} records", f"{beyond:.1%} (alone {alone:.1%})", "at most 5 %", beyond <= 0.05)


WORLDS = {"coverage": coverage, "false verdicts": false_verdicts}

if __name__ == "__main__":
    run_worlds(WORLDS, __doc__, runs=1000, seed=52)
