"""Writes a bill of materials (CycloneDX) of an installation, and checks licences and disclosed weaknesses; works offline.

Names, versions and hashes are those of requirements.lock, licences those that the installed packages declare. `--advisories` is a folder of
advisories in the form of OSV (a copy of https://github.com/pypa/advisory-database as JSON).
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any, Final

from packaging.version import InvalidVersion, Version

REPOSITORY = Path(__file__).resolve().parents[2]

ALLOWED: Final = frozenset(
    {
        *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "MPL-2.0", "PSF-2.0"),
        *("Unlicense", "Zlib", "LGPL-3.0-only", "LGPL-3.0-or-later"),
    }
)
"""Licences under which a package may be used next to Apache-2.0. Of LGPL, only as a package of its own that users can replace."""

_CLASSIFIERS: Final = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
}
_READ_BY_HAND: Final = {"protobuf": "BSD-3-Clause"}
"""Packages whose metadata names no SPDX licence, with that of the licence file that they carry."""

_PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)(?:\s*;\s*(?P<marker>[^\\]+?))?\s*\\?$")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class PinnedPackage:
    """One package of the lock file. `licence` is an SPDX expression, or None where none is known."""

    name: str
    version: str
    hashes: tuple[str, ...]
    licence: str | None
    is_installed: bool

    @property
    def is_allowed(self) -> bool:
        """Whether every licence that applies is allowed; of alternatives one is enough."""
        if self.licence is None:
            return not self.is_installed
        return any(all(part.strip("() ") in ALLOWED for part in choice.split(" AND ")) for choice in self.licence.split(" OR "))


def read_lock(lock: Path) -> list[PinnedPackage]:
    found: list[tuple[str, str, list[str]]] = []
    for line in lock.read_text().splitlines():
        pin = _PIN.match(line)
        if pin:
            found.append((pin["name"], pin["version"], []))
        elif found:
            found[-1][2].extend(_HASH.findall(line))
    return [PinnedPackage(name, version, tuple(hashes), *_read_licence(name)) for name, version, hashes in found]


def describe(packages: Sequence[PinnedPackage], *, version: str) -> dict[str, Any]:
    """Returns the bill of materials by CycloneDX 1.6. The same packages give the same bytes: it has no time and no serial number."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": f"pkg:pypi/evenhand@{version}",
                "name": "evenhand",
                "version": version,
                "licenses": [{"expression": "Apache-2.0"}],
            }
        },
        "components": [
            {
                "type": "library",
                "bom-ref": f"pkg:pypi/{_normalise(package.name)}@{package.version}",
                "purl": f"pkg:pypi/{_normalise(package.name)}@{package.version}",
                "name": package.name,
                "version": package.version,
                # One of each file of the release: an installation has one of them.
                "properties": [{"name": "evenhand:sha256", "value": content} for content in package.hashes],
                "licenses": [] if package.licence is None else [{"expression": package.licence}],
            }
            for package in packages
        ],
    }


def find_weaknesses(packages: Sequence[PinnedPackage], folder: Path) -> Iterator[str]:
    by_name = {_normalise(one.name): one for one in packages}
    count = 0
    for file in sorted(folder.rglob("*.json")):
        advisory = json.loads(file.read_text())
        if not isinstance(advisory, dict) or "affected" not in advisory:
            continue
        count += 1
        if advisory.get("withdrawn"):
            continue
        for affected in advisory["affected"]:
            about = affected.get("package", {})
            package = by_name.get(_normalise(about.get("name", ""))) if about.get("ecosystem") == "PyPI" else None
            if package is not None and is_affected(package.version, affected):
                yield f"{package.name} {package.version}: {advisory.get('id')} {advisory.get('summary', '')}".strip()
    if not count:
        raise ValueError(f"{folder} holds no advisory in the form of OSV")


def is_affected(version: str, affected: dict[str, Any]) -> bool:
    """Returns whether the version is listed, or lies in one of the ranges (OSV schema, "evaluation")."""
    if version in affected.get("versions", ()):
        return True
    for bounds in affected.get("ranges", ()):
        if bounds.get("type") != "ECOSYSTEM":
            continue
        is_in = False
        for event in bounds.get("events", ()):
            (kind, at), *_ = event.items()
            try:
                is_reached = at == "0" or Version(version) >= Version(at)
                is_beyond = at != "0" and Version(version) > Version(at)
            except InvalidVersion:
                continue
            if kind == "introduced" and is_reached:
                is_in = True
            elif (kind == "fixed" and is_reached) or (kind == "last_affected" and is_beyond):
                is_in = False
        if is_in:
            return True
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lock", type=Path, default=REPOSITORY / "requirements.lock", help="lock file (default requirements.lock)")
    parser.add_argument("--output", type=Path, default=Path("sbom.cdx.json"), help="file to write (default sbom.cdx.json)")
    parser.add_argument("--advisories", type=Path, help="folder with advisories in the form of OSV; without it, none are compared")
    options = parser.parse_args()
    packages = read_lock(options.lock)
    version = re.search(r'VERSION = "([^"]+)"', (REPOSITORY / "app" / "__init__.py").read_text())
    options.output.write_text(json.dumps(describe(packages, version=version[1] if version else "0"), indent=1) + "\n")
    width = max(len(package.name) for package in packages)
    for package in packages:
        print(f"{package.name:<{width}}  {package.version:<14}  {package.licence or 'not installed on this platform'}")
    refused = [
        f"{package.name} {package.version}: licence {package.licence or 'unknown'} is not on the list"
        for package in packages
        if not package.is_allowed
    ]
    weak = [] if options.advisories is None else list(find_weaknesses(packages, options.advisories))
    compared = "advisories not compared (--advisories)" if options.advisories is None else f"{len(weak)} known weaknesses"
    print(f"\n{len(packages)} packages, {len(refused)} licences refused, {compared}; written to {options.output}")
    print("\n".join([*refused, *weak]))
    return int(bool(refused or weak))


def _read_licence(name: str) -> tuple[str | None, bool]:
    try:
        facts = metadata(name)
    except PackageNotFoundError:
        return None, False
    declared = (facts.get_all("License-Expression") or [None])[0]
    if declared or name in _READ_BY_HAND:
        return declared or _READ_BY_HAND[name], True
    classifiers = [one.rpartition(" :: ")[2] for one in facts.get_all("Classifier") or [] if one.startswith("License ::")]
    # Whether several are alternatives is not said, so all must be allowed; one that is not known here is refused.
    known = [
        _CLASSIFIERS.get(classifier, f"LicenseRef-{re.sub(r'[^A-Za-z0-9.-]+', '-', classifier)}")
        for classifier in classifiers
        if classifier != "OSI Approved"
    ]
    text = (facts.get_all("License") or [""])[0].strip()
    return (" AND ".join(known) or (text if text in ALLOWED else None)), True


def _normalise(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    sys.exit(main())
