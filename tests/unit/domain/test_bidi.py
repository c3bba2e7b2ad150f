from app.base.values import FIRST, LAST, isolate


def test_words_from_right_to_left_are_isolated_so_that_a_number_after_them_stays_in_its_place() -> None:
    assert isolate("Of every 100 records of نساء شابات, 40 were") == f"Of every 100 records of {FIRST}نساء شابات{LAST}, 40 were"
    assert isolate("א, ב") == f"{FIRST}א{LAST}, {FIRST}ב{LAST}"


def test_a_text_from_left_to_right_is_left_as_it_is() -> None:
    assert isolate("Zoë × 東京 😀 0.8–1.25") == "Zoë × 東京 😀 0.8–1.25"


def test_a_character_that_turns_what_follows_is_shown_as_its_number() -> None:
    assert isolate("wo\u202emen\u2069") == "wo[U+202E]men[U+2069]"
