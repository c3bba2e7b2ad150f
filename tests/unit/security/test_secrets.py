import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.access.secret_box import KEY_FILE, SecretBox, open_secret_box
from app.base.errors import SetupError
from app.base.settings import Settings


def test_what_was_sealed_is_unsealed_by_the_same_words_only() -> None:
    sealed = SecretBox("any words").seal("sésame".encode())

    assert SecretBox("any words").unseal(sealed) == "sésame".encode()
    assert "sésame".encode() not in sealed
    with pytest.raises(SetupError, match="EVENHAND_SECRET_KEY"):
        SecretBox("other words").unseal(sealed)


def test_sealing_twice_looks_different_and_damage_is_noticed() -> None:
    box = SecretBox("any words")
    sealed = box.seal(b"sesame")

    assert box.seal(b"sesame") != sealed
    for damaged in (b"", sealed[:5], sealed[:-1], bytes([sealed[0] ^ 1]) + sealed[1:], sealed[:-1] + bytes([sealed[-1] ^ 1])):
        with pytest.raises(SetupError):
            box.unseal(damaged)


def test_an_empty_secret_key_is_refused() -> None:
    with pytest.raises(SetupError, match="empty"):
        SecretBox("  ")


@pytest.mark.thorough
def test_without_a_setting_processes_that_start_at_once_agree_on_one_generated_key(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "new")
    with ThreadPoolExecutor(8) as pool:
        boxes = list(pool.map(lambda _: open_secret_box(settings), range(8)))

    sealed = boxes[0].seal(b"sesame")
    assert {box.unseal(sealed) for box in boxes} == {b"sesame"}
    assert stat.S_IMODE((tmp_path / "new" / KEY_FILE).stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "new").iterdir()] == [KEY_FILE]


def test_a_folder_that_cannot_be_written_is_told_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(SetupError, match="EVENHAND_SECRET_KEY"):
        open_secret_box(Settings(data_dir=tmp_path / "file"))
