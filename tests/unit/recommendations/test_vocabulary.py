"""The files of words: complete, folded as the values are that they are compared with, and each word of one meaning."""

import tomllib
from pathlib import Path

import pytest

from app.deployments.recommendations.attribute_kinds import Kind
from app.deployments.recommendations.column_names import KIND_ROWS, fold_letters, read_kind, read_words

WORDS = Path(__file__).parents[3] / "app" / "deployments" / "recommendations" / "words"


def test_each_kind_has_a_file_and_no_file_is_left_over() -> None:
    assert {path.stem for path in WORDS.iterdir()} == {*Kind, "any_kind", "outcomes"}
    assert [row.kind for row in KIND_ROWS] == list(Kind)


@pytest.mark.parametrize("kind", Kind)
def test_the_words_of_values_are_folded_because_values_are_folded_before_they_are_looked_up(kind: Kind) -> None:
    row = read_kind(kind)
    spellings = [*row.words, *row.weak_words, *row.indicators, *(code for coding in row.codings for code in coding.codes)]

    assert [word for word in spellings if word != " ".join(fold_letters(word).split())] == []


@pytest.mark.parametrize("kind", Kind)
def test_a_word_has_one_meaning(kind: Kind) -> None:
    words = [word for part in ("words", "weak_words") for listed in read_words(kind).get(part, {}).values() for word in listed]

    assert sorted(words) == sorted(set(words))


def test_a_misspelt_entry_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "sex.toml").write_text(
        (WORDS / "sex.toml").read_text(encoding="utf-8").replace("neutral_words =", "neutrals ="), encoding="utf-8"
    )
    assert tomllib.loads((tmp_path / "sex.toml").read_text(encoding="utf-8"))["neutrals"]
    monkeypatch.setattr("app.deployments.recommendations.column_names._FOLDER", tmp_path)

    with pytest.raises(TypeError, match="neutrals"):
        read_kind(Kind.SEX)
