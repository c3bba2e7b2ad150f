"""Words of a page that are marked up where they are written."""

from zoneinfo import ZoneInfo

import pytest

from app.pages.words import decode_query, keep_unbroken, put_in_zone, write_figure, write_interval


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("aged 26–75", 'aged <bdi class="whole">26–75</bdi>'),
        ("18-25", '<bdi class="whole">18-25</bdi>'),
        ("its own, 0.33–0.55.", 'its own, <bdi class="whole">0.33–0.55</bdi>.'),
        ("since 2026-11-23 14:00", 'since <bdi class="whole">2026-11-23</bdi> 14:00'),
        ("women & <b>", "women &amp; &lt;b&gt;"),
        ("it's 5", "it&#39;s 5"),
    ],
)
def test_ranges_and_days_stay_in_one_line_and_the_rest_is_escaped(text: str, written: str) -> None:
    assert keep_unbroken(text) == written


def test_long_numbers_may_break_so_that_no_name_is_wider_than_a_page() -> None:
    assert keep_unbroken("1234567–1234567") == "1234567–1234567"


def test_ids_are_no_ranges() -> None:
    assert keep_unbroken("check a59aa505-9cc2-4be7-b5c9-68631929188e") == "check a59aa505-9cc2-4be7-b5c9-68631929188e"


def test_a_negative_figure_has_a_minus_sign() -> None:
    assert (write_figure(-0.494), write_interval((-0.49, -0.32)), write_interval((None, -0.1))) == (
        "−0.49",
        "−0.49 to −0.32",
        "up to −0.10",
    )


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("since=2025-11-26T06%3A20%3A00%2B00%3A00&preset=ll144", "since: 2025-11-26T06:20:00+00:00, preset: ll144"),
        ("categories=%7B%22sex%22%3A", 'categories: {"sex":'),
        ("", ""),
        ("plain", "plain: "),
    ],
)
def test_the_query_of_a_fetched_file_is_decoded(query: str, said: str) -> None:
    assert decode_query(query) == said


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<p>since 2026-11-27 23:30 or before</p>", "<p>since 2026-11-28 00:30 UTC+01:00 or before</p>"),
        ('<p title="2026-07-01 09:00 UTC">x</p>', '<p title="2026-07-01 11:00 UTC+02:00">x</p>'),
        ("2026-11-30 14:00 to 15:00 UTC", "2026-11-30 15:00 to 16:00 UTC+01:00"),
        ("(between 2026-11-30 14:00 and 15:00)", "(between 2026-11-30 15:00 and 16:00 UTC+01:00)"),
        ("(between 2026-11-30 22:00 and 23:00)", "(between 2026-11-30 23:00 and 2026-12-01 00:00 UTC+01:00)"),
        ("2026-11-30 14:00:05 UTC", "2026-11-30 15:00:05 UTC+01:00"),
        ('<bdi class="whole">2026-11-30</bdi> 14:00', '<bdi class="whole">2026-11-30</bdi> 15:00 UTC+01:00'),
        ("2026-11-30 14:00 UTC+05:00", "2026-11-30 14:00 UTC+05:00"),
        *(
            (text, text)
            for text in (
                "<bdi>2026-11-30 14:00</bdi>",
                "<code>2026-11-30 14:00</code>",
                '<input value="2026-11-30 14:00 UTC">',
                "<textarea>2026-11-30 14:00 UTC</textarea>",
                "2026-13-30 14:00",
                "2026-11-30",
            )
        ),
    ],
)
def test_moments_of_a_page_are_in_the_readers_zone_and_texts_of_people_stay(page: str, expected: str) -> None:
    assert put_in_zone(page, ZoneInfo("Europe/Berlin")) == expected
    assert put_in_zone(page, ZoneInfo("UTC")) == page
