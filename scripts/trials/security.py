"""Asks a service of its own, on loopback only, as everybody who may not: every route by every role, and made-up requests.

The exit status is 1 if an attack succeeds. `scripts/trial doors` attacks by raw sockets.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from app.base.telemetry.json_logs import configure_logging
from scripts.arguments import make_parser
from scripts.benchmarks.staging import own_database
from tests.builders.issuers import running_issuer
from tests.security.fuzzing import fuzz_a_deployment, fuzz_every_operation, fuzz_own_key
from tests.security.matrix import people_of, rules_of_people, try_every_operation
from tests.service import RunningService, running_service


def main() -> int:
    parser = make_parser(__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", choices=[*_PARTS, []], help=f"{', '.join(_PARTS)}; all by default")
    parser.add_argument("--examples", type=int, default=25, help="how many examples of each operation the fuzzer tries (default 25)")
    options = parser.parse_args()
    configure_logging("error")
    has_failed = False
    for name in options.parts or _PARTS:
        faults = _PARTS[name](options.examples)
        sys.stdout.write("".join(f"  {fault}\n" for fault in faults) + f"{name}: {'FAILED' if faults else 'passed'}\n")
        sys.stdout.flush()
        has_failed |= bool(faults)
    return int(has_failed)


def _matrix(_examples: int) -> list[str]:
    with running_issuer() as issuer, _service(**issuer.settings(*rules_of_people())) as (service, _):
        of_keys, of_people = try_every_operation(service), try_every_operation(service, people_of(issuer))
    asked = f"{of_keys.asked} requests with keys or none, {of_people.asked} with sessions, people of an issuer and their tokens"
    sys.stdout.write(f"{of_keys.operations} operations of the OpenAPI document, {asked}\n")
    return of_keys.faults + of_people.faults


def _fuzz(examples: int) -> list[str]:
    faults = []
    for fuzz in (fuzz_every_operation, fuzz_own_key, fuzz_a_deployment):
        with _service() as (service, folder):
            outcome = fuzz(service, folder, examples)
        sys.stdout.write(outcome.stdout.rpartition("SUMMARY")[2] or outcome.stdout)
        faults += [outcome.stdout] if outcome.returncode else []
    return faults


@contextmanager
def _service(**settings: object) -> Iterator[tuple[RunningService, Path]]:
    with own_database() as (database, folder), running_service(database, folder / "work", **settings) as service:
        yield service, folder / "work"


_PARTS: dict[str, Callable[[int], list[str]]] = {"matrix": _matrix, "fuzz": _fuzz}


if __name__ == "__main__":
    sys.exit(main())
