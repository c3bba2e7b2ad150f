"""Files that are dealt out together."""

from tests.together import PAGES, SHARING_AN_EXAMPLE, shares_an_example


def test_every_file_of_a_group_exists_and_is_in_one_group_only() -> None:
    named = [name for group in SHARING_AN_EXAMPLE for name in group]

    assert [name for name in named if not (PAGES / name).exists()] == []
    assert len(named) == len(set(named))
    assert shares_an_example(PAGES / named[0])
    assert not shares_an_example(PAGES / "test_states.py")
