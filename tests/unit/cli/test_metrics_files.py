"""What keeps a file from being read or written is told in a sentence, under the name of the argument that it is wrong with."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from app.base.errors import InvalidInput
from app.cli.library.metrics_files import CellDeclarations, check_output, read_cells, write_reports
from app.library.measurements import measure_frame
from tests.builders.page_words import says

ROWS = b"sex,approved\n" + b"woman,1\nman,0\n" * 50


def told(file: Path) -> str:
    with pytest.raises(InvalidInput) as refused:
        read_cells(file, {"attribute": ["sex"], "prediction": ["approved"]})
    assert [problem.field for problem in refused.value.problems] == ["file"]
    return refused.value.problems[0].message


def zipped(*, is_encrypted: bool = False, is_damaged: bool = False, is_packed_oddly: bool = False) -> bytes:
    """The rows in an archive, of which the headers say what they are told to."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("rows.csv", ROWS)
    content = bytearray(archive.getvalue())
    directory = content.rindex(b"PK\x01\x02")
    content[directory + 8] |= is_encrypted
    content[directory + 10] = 99 if is_packed_oddly else 0
    content[60] ^= is_damaged
    return bytes(content)


FILES = {
    "empty.csv": b"",
    "blank.csv": b"\n\n",
    "open.csv": b'sex,approved\n"woman,1\nman,0\n',
    "named.csv.gz": ROWS,
    "cut.csv.gz": gzip.compress(ROWS)[:-20],
    "damaged.csv.gz": gzip.compress(ROWS, mtime=0)[:10] + b"\xff" * 40,
    "cut.csv.bz2": bz2.compress(ROWS)[:-8],
    "named.csv.xz": ROWS,
    "cut.csv.xz": lzma.compress(ROWS)[:-8],
    "named.tar": ROWS,
    "named.zip": ROWS,
    "encrypted.zip": zipped(is_encrypted=True),
    "damaged.zip": zipped(is_damaged=True),
    "odd.zip": zipped(is_packed_oddly=True),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_cannot_be_read_as_csv_is_told_so(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FILES[name])

    message = told(tmp_path / name)

    assert message.startswith(f"{name} cannot be read as CSV: ")
    assert len(message) > len(f"{name} cannot be read as CSV: ")


@pytest.mark.parametrize("member", ["../../outside.csv", "/outside.csv", "..\\outside.csv"])
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_a_member_of_an_archive_is_read_and_never_written_whatever_its_name(tmp_path: Path, member: str, kind: str) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    file = tmp_path / "a" / "b" / f"rows.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(member, ROWS)
    else:
        with tarfile.open(file, "w") as archive_of_tape:
            described = tarfile.TarInfo(member)
            described.size = len(ROWS)
            archive_of_tape.addfile(described, io.BytesIO(ROWS))

    assert len(read_cells(file, {"attribute": ["sex"]}).frame) == 100
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [file]
    assert not Path("/outside.csv").exists()


@pytest.mark.parametrize("target", ["/etc/passwd", "../../../../../../etc/passwd"])
def test_a_link_in_an_archive_is_not_followed(tmp_path: Path, target: str) -> None:
    with tarfile.open(tmp_path / "rows.tar", "w") as archive:
        link = tarfile.TarInfo("rows.csv")
        link.type, link.linkname = tarfile.SYMTYPE, target
        archive.addfile(link)

    assert told(tmp_path / "rows.tar").startswith("rows.tar cannot be read as CSV: ")


@pytest.mark.parametrize(
    ("content", "fault", "encoding"),
    [
        ("sex,approved\ncafé,1\n".encode("latin-1"), "byte E9 at offset 16 (line 2) is not UTF-8", "latin-1"),
        (ROWS.decode().encode("utf-16"), "byte FF at offset 0 (line 1) is not UTF-8", "utf-16"),
    ],
)
def test_a_file_of_another_encoding_is_read_where_that_is_named(tmp_path: Path, content: bytes, fault: str, encoding: str) -> None:
    (tmp_path / "rows.csv").write_bytes(content)

    message = told(tmp_path / "rows.csv")

    assert message.startswith(f"{fault}. Name the encoding that it has: --encoding {encoding},")
    frame = read_cells(tmp_path / "rows.csv", {"attribute": ["sex"]}, CellDeclarations(encoding=encoding)).frame
    assert frame["sex"].iloc[0] in ("café", "woman")


def test_a_file_that_may_not_be_read_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion) -> None:
    def refuses(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("app.cli.library.metrics_files.get_handle", refuses)

    message = told(tmp_path / "rows.csv")

    assert says(message, "rows.csv", "Permission denied")
    assert message == snapshot


def test_a_packed_file_is_unpacked_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(ROWS))

    frame = read_cells(tmp_path / "rows.csv.gz", {"attribute": ["sex"]}).frame

    assert frame["sex"].value_counts().to_dict() == {"woman": 50, "man": 50}


def test_an_output_that_no_path_leads_to_is_told_before_anything_is_measured(tmp_path: Path) -> None:
    file, long = tmp_path / "rows.csv", tmp_path / f"{'n' * 300}.json"
    file.write_bytes(ROWS)

    with pytest.raises(InvalidInput, match=r"^output: .* cannot be written: File name too long$"):
        check_output(long, file)


def test_a_link_that_leads_back_to_itself_is_no_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, link = tmp_path / "rows.csv", tmp_path / "out.json"
    file.write_bytes(ROWS)

    def resolve(path: Path) -> Path:
        raise RuntimeError(f"Symlink loop from {str(path)!r}")

    # Python 3.13 and later replace such a link.
    monkeypatch.setattr(Path, "resolve", resolve)

    with pytest.raises(InvalidInput, match=r"^output: .*out\.json is a link that leads back to itself$"):
        check_output(link, file)


def test_what_is_no_text_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_bytes(ROWS)
    frame, output = read_cells(tmp_path / "rows.csv", {"attribute": ["sex"], "prediction": ["approved"]}).frame, tmp_path / "out.json"
    report = measure_frame(
        frame, attribute="sex", prediction="approved", favourable=["1", "\udcff"], unfavourable="0", metrics="disparate_impact"
    )

    with pytest.raises(InvalidInput, match=r"^output: .*out\.json cannot be written: '\\udcff' is no text$"):
        write_reports(report, output)

    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]
