"""Traps are marked by comments next to the code that has them."""

import io
import tokenize
from pathlib import Path

FILES = sorted((Path(__file__).resolve().parents[2] / "app").rglob("*.py"))
MIN_COMMENTS_PER_1000_LINES = 15


def count_comments(source: str) -> int:
    """Returns the comments that say something: a bare `noqa` or `type: ignore` does not, one with its reason does."""
    comments = [token.string for token in tokenize.generate_tokens(io.StringIO(source).readline) if token.type == tokenize.COMMENT]
    return sum(" - " in comment or not comment.startswith(("# noqa", "# type:")) for comment in comments)


def test_traps_are_marked() -> None:
    sources = [path.read_text(encoding="utf-8") for path in FILES]
    lines = sum(len(source.splitlines()) for source in sources)

    assert 1000 * sum(map(count_comments, sources)) / lines >= MIN_COMMENTS_PER_1000_LINES


def test_a_comment_counts_only_if_it_says_something() -> None:
    assert count_comments("a = 1  # noqa: E501\nb = 2  # type: ignore[misc]\n") == 0
    assert count_comments("# NULL is not 0 here\na = 1  # noqa: E501 - one line of a table\n") == 2
