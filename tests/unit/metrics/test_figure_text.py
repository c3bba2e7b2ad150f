import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.check import Details
from app.statistics.catalogue import CATALOGUE
from app.statistics.catalogue.metric import CountFigure, RateComparison
from app.statistics.sentences.figure_sentences import format_figure, write_sentence

_NUMBER = re.compile(r"\d[\d,]*(?:\.(\d+))?")

FIGURES = [
    (0.1, 0.0466, 0.203),
    (0.26, 0.154, 0.46),
    (0.9996, 0.99, 1.0004),
    (1.0, 0.81, 1.23),
    (0.0, -0.05, 0.0317),
    (0.0, 0.0, 0.00007),
    (-0.12, -0.3, 0.0604),
    (0.25, 0.0, 1.0),
    (0.5, 0.4, None),
    (12.0, 7.3, 18.9),
]
SIDES = Details(
    monitored="women", reference="men", monitored_counts={"n": 100, "favourable": 7}, reference_counts={"n": 100, "favourable": 50}
)


def count_decimals(text: str) -> set[int]:
    """The numbers of decimals in a text."""
    return {len(found[1] or "") for found in _NUMBER.finditer(text)}


@pytest.mark.parametrize(
    ("figure", "value", "interval"),
    [
        ((0.1, 0.0466, 0.203), "0.100", "0.047 to 0.203"),
        ((0.26, 0.154, 0.46), "0.260", "0.154 to 0.460"),
        ((1.25, 0.9, 1.6), "1.25", "0.90 to 1.60"),
        ((1.5, 1.002, 2.0), "1.500", "1.002 to 2.000"),
        ((0.8, 0.7, None), "0.800", "0.700 to open"),
        ((0.0000188, 0.0, 0.00007), "0.0000188", "0.0000000 to 0.0000700"),
        ((0.26, 1e-12, 0.9), "0.260000", "less than 0.000001 to 0.900000"),
        ((0.26, 0.1, 1 - 1e-12), "0.260000", "0.100000 to less than 1.000000"),
        ((1, 1, 1), "1", "1 to 1"),
    ],
)
def test_both_ends_have_the_decimals_of_their_figure(figure: tuple[float, float, float | None], value: str, interval: str) -> None:
    text = format_figure(*figure)

    assert (text.value, text.interval) == (value, interval)


@given(st.lists(st.floats(-50, 50), min_size=3, max_size=3))
def test_no_figure_mixes_decimals_or_appears_as_0_or_1_without_being_it(numbers: list[float]) -> None:
    text = format_figure(*numbers)

    assert count_decimals(f"{text.value} {text.interval}") == {text.decimals}
    for number, shown in zip(numbers, (text.value, text.lower, text.upper), strict=True):
        assert "-" not in shown
        assert "than" in shown or (read := float(shown.replace("−", "-"))) not in {-1, 0, 1} or read == number


@pytest.mark.parametrize("metric", CATALOGUE)
def test_every_sentence_has_one_unit_and_one_number_of_decimals_in_a_figure(metric: str) -> None:
    for (value, lower, upper), details in product(FIGURES, (Details(), SIDES)):
        text = write_sentence(metric, value=value, lower=lower, upper=upper, details=details)

        measure = CATALOGUE[metric].measure
        if isinstance(measure, RateComparison) and details is SIDES and "of every 100 of men" in text:
            lead, text = text.split(": ", 1)
            # Both shares are of a hundred records.
            decimals = count_decimals(re.sub(r"(Of|of) every 100 ", "", lead))
            # Next to a gap they have its decimals, so that they agree with it.
            assert decimals in ({0}, {1}) if measure.by.divides else len(decimals) == 1, lead
        figure = text[text.index("(value ") :] if "(value " in text else re.sub(r"^Of every 100 ", "", text)
        figure = figure.replace("95 %", "")
        assert len(count_decimals(figure)) == 1, text
        if isinstance(measure, CountFigure):
            assert count_decimals(figure) <= {0, 1}
        assert not ("percentage points" in figure and "ratio" in figure), text
