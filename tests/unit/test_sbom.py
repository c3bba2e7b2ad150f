"""The bill of materials: what the lock file pins, licences that are refused, and advisories compared without a network."""

import json
from pathlib import Path
from typing import Any

import pytest

from scripts.trials.sbom import PinnedPackage, describe, find_weaknesses, is_affected, read_lock

LOCK = Path(__file__).parents[2] / "requirements.lock"


def package(**changes: Any) -> PinnedPackage:  # noqa: ANN401 - of several types
    return PinnedPackage(**{"name": "jinja2", "version": "3.1.6", "hashes": (), "licence": "MIT", "is_installed": True, **changes})


def test_every_pinned_package_is_listed_with_its_hashes_and_a_licence_that_is_allowed() -> None:
    packages = read_lock(LOCK)
    written = describe(packages, version="1.0")

    pinned = [line.partition("==")[0] for line in LOCK.read_text().splitlines() if "==" in line and line[0].isalnum()]
    assert [one.name for one in packages] == pinned
    assert all(one.hashes for one in packages)
    assert [one.name for one in packages if not one.is_allowed] == []
    assert written["bomFormat"] == "CycloneDX"
    assert len({component["bom-ref"] for component in written["components"]}) == len(pinned)
    assert json.dumps(written) == json.dumps(describe(read_lock(LOCK), version="1.0"))


@pytest.mark.parametrize(
    ("licence", "is_allowed"),
    [
        ("MIT", True),
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("AGPL-3.0-only", False),
        ("BSD-3-Clause AND (MIT)", True),
        ("LicenseRef-Free-for-non-commercial-use", False),
        (None, False),
    ],
)
def test_a_licence_is_allowed_if_all_that_apply_are(licence: str | None, is_allowed: bool) -> None:  # noqa: FBT001 - of the table
    assert package(licence=licence).is_allowed is is_allowed


@pytest.mark.parametrize(
    ("affected", "is_weak"),
    [
        ({"versions": ["3.1.6"]}, True),
        ({"versions": ["3.1.5"]}, False),
        ({"ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "3.1.7"}]}]}, True),
        ({"ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "3.1.6"}]}]}, False),
        ({"ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "3.1.0"}, {"last_affected": "3.1.6"}]}]}, True),
        ({"ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "3.10"}]}]}, False),
        ({"ranges": [{"type": "GIT", "events": [{"introduced": "0"}]}]}, False),
    ],
)
def test_a_version_is_affected_by_the_rule_of_osv(affected: dict[str, Any], is_weak: bool) -> None:  # noqa: FBT001 - of the table
    assert is_affected("3.1.6", affected) is is_weak


def test_advisories_of_a_folder_are_compared_and_an_empty_folder_is_no_good_news(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no advisory"):
        list(find_weaknesses([package()], tmp_path))
    about = {"package": {"ecosystem": "PyPI", "name": "Jinja2"}, "versions": ["3.1.6"]}
    (tmp_path / "a.json").write_text(json.dumps({"id": "PYSEC-1", "summary": "breaks", "affected": [about]}))
    (tmp_path / "b.json").write_text(json.dumps({"id": "PYSEC-2", "withdrawn": "2026-01-01T00:00:00Z", "affected": [about]}))

    assert list(find_weaknesses([package()], tmp_path)) == ["jinja2 3.1.6: PYSEC-1 breaks"]
