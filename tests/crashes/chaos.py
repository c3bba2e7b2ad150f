"""Load on all doors while a seeded plan kills and cuts off what carries it; then everything that is left is checked."""

import os
import random
import subprocess
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from tests.crashes.checking import create, deployment, monitor
from tests.crashes.clock import RIGHT, SHIFTS, TO_THE_END, Clock, clock
from tests.crashes.doors import GATED, Caller, Door, DoorLedger, Reader, Sender
from tests.crashes.history import Historian, follow_again, is_followed
from tests.crashes.model import model_process
from tests.crashes.processes import command_line
from tests.crashes.programs import SPOOLED, SpoolingProgram
from tests.crashes.recomputing import recompute
from tests.crashes.report import Report
from tests.crashes.service import Service
from tests.crashes.stage import CHECKED, LOGGED, Stage, stage
from tests.crashes.truth import count_records
from tests.models.faulty import Fault
from tests.progress import wait_until

API_PROCESSES = 2
DISK_BYTES = 3 * 2**30
"""Size of the disk in memory that the service's folder is on, where one may be mounted."""

LEAST_REST_SECONDS = 3.0
LONGEST_REST_SECONDS = 20.0
"""Between two harms."""

HARM_SECONDS = 6.0
"""Longest time for which a model is at fault, or a disk full."""

CONNECTIONS = 160
"""Connections that two services of two API processes and their workers may hold at most, once they are idle."""

GROWTH = 1.5
"""Factor by which the memory of a kind of process may be larger in the last third of the time than in the first."""


QUIET_LOOKS = 15
"""Seconds without a new record after which none is on its way any more."""


class Harm(StrEnum):
    """The ways in which something is killed or cut off."""

    API = "an API process killed"
    WORKER = "the worker killed"
    CONNECTION = "a connection's process in Postgres killed"
    POSTGRES = "Postgres killed"
    SECOND = "the second service killed with all its processes"
    EVERYTHING = "the first service killed with all its processes"
    PROGRAM = "a program with the Python client killed"
    MODEL_FAULT = "the model at fault"
    MODEL_KILLED = "the model killed"
    DISK = "the disk full"
    CLOCK = "a clock moved away and back"


_WEIGHTS = {Harm.API: 4, Harm.WORKER: 4, Harm.CONNECTION: 3, Harm.POSTGRES: 2, Harm.SECOND: 2, Harm.EVERYTHING: 1, Harm.PROGRAM: 3}
_WEIGHTS |= {Harm.MODEL_FAULT: 3, Harm.MODEL_KILLED: 2}
CLOCK_WEIGHT = 12
CLOCK_SECONDS = 15.0
"""For which a clock is wrong, before a kill and again after it."""

_FAULTS = (Fault.STATUS_500, Fault.STATUS_503, Fault.STATUS_429, Fault.HANG_UP, Fault.NOT_JSON, Fault.WRONG_LENGTH, Fault.SLOW)


@dataclass
class Chaos:
    """The stage with a second service, programs and doors on it, and what was done to them."""

    stage: Stage
    second: Service
    program: SpoolingProgram
    disk: Path | None
    clocks: dict[Service, Clock]
    doors: DoorLedger = field(default_factory=DoorLedger)
    done: Counter[Harm] = field(default_factory=Counter)
    memory: dict[str, list[tuple[float, int]]] = field(default_factory=lambda: defaultdict(list))
    models: ExitStack = field(default_factory=ExitStack)

    def do(self, harm: Harm) -> None:
        """Does it, and returns once what was harmed is on its way back."""
        self.done[harm] += 1
        service = self.stage.service
        match harm:
            case Harm.API | Harm.WORKER | Harm.CONNECTION | Harm.POSTGRES:
                find = {Harm.API: service.api_pid, Harm.WORKER: service.worker_pid, Harm.CONNECTION: self.stage.backend}
                found = find.get(harm, service.postmaster_pid)()
                service.kill(set() if found is None else {found})
            case Harm.SECOND | Harm.EVERYTHING:
                victim = self.second if harm is Harm.SECOND else service
                victim.kill(victim.pids())
                if victim is self.second:  # it ends where the database is still in recovery
                    service.connect().close()
                victim.start()
            case Harm.PROGRAM:
                self.program.kill()
                self.program.start()
            case Harm.MODEL_FAULT:
                fault = self.stage.chance.choice(_FAULTS)
                self.stage.model.behave(fault, delay_seconds=1.0)
                time.sleep(self.stage.chance.uniform(0.5, HARM_SECONDS))
                self.stage.model.behave()
            case Harm.MODEL_KILLED:
                self.stage.model.kill()
                time.sleep(self.stage.chance.uniform(0.5, HARM_SECONDS))
                self.stage.model = self.models.enter_context(model_process(self.stage.model.port))
            case Harm.DISK:
                self._fill_disk()
            case Harm.CLOCK:
                self._move_clocks()

    def measure_memory(self) -> None:
        """Notes how much memory each of our processes has now."""
        for pid in self.stage.service.pids() | self.second.pids():
            line = command_line(pid)
            kind = "api" if "api_process" in line else "worker" if line.endswith(" worker") else ""
            if kind and "launch.py" not in line:
                self.memory[kind].append((time.monotonic(), _resident_bytes(pid)))

    def _move_clocks(self) -> None:
        """Moves the clock of one machine or both, kills what runs there meanwhile, and sets it right again."""
        moved = self.stage.chance.choice([list(self.clocks), *([service] for service in self.clocks)])
        shift = self.stage.chance.choice(SHIFTS)
        for service in moved:
            self.clocks[service].set(shift)
        time.sleep(CLOCK_SECONDS)
        for service in moved:
            service.kill({pid for pid in (service.worker_pid(), service.api_pid()) if pid is not None})
        time.sleep(CLOCK_SECONDS)
        for service in moved:
            self.clocks[service].set(RIGHT)

    def _fill_disk(self) -> None:
        if self.disk is None:
            return
        ballast = self.disk / "ballast"
        with suppress(OSError), ballast.open("wb") as file:
            while True:
                file.write(bytes(2**20))
        time.sleep(HARM_SECONDS)
        ballast.unlink()


def run_chaos(*, seconds: float, seed: int, with_disk: bool = True, with_clock: bool = False, keep_logs: Path | None = None) -> Report:
    """Runs the load and the plan for so long, waits until everything is settled, and reports what is left."""
    report = Report(f"Chaos: {seconds / 60:.0f} minutes, seed {seed}")
    with ExitStack() as stack:
        clocks = [stack.enter_context(clock()) for _ in range(2)] if with_clock else []
        disk = stack.enter_context(_disk(is_wanted=with_disk))
        settings = {"EVENHAND_API_PROCESSES": str(API_PROCESSES), **(clocks[0].settings if clocks else {})}
        made = stack.enter_context(stage(seed=seed, settings=settings, keep_logs=keep_logs))
        chaos = stack.enter_context(_chaos(made, disk, clocks))
        moments = _plan(made.chance, seconds, with_disk=disk is not None, with_clock=with_clock)
        doors = _doors(chaos)
        historian = Historian(made.service, made.key, seed=made.chance.randrange(10**6))
        with made.logging(), made.checking() as asker:
            made.model.behave()
            for door in doors:
                door.start()
            historian.start()
            began = time.monotonic()
            for at, harm in moments:
                _rest(chaos, began + at)
                chaos.do(harm)
                asker.forget_interrupted()
            _rest(chaos, began + seconds)
            for door in doors:
                door.stop()
            historian.stop()
            for thread in (*doors, historian):
                thread.join()
        _settle(chaos)
        _report(report, chaos, historian, seconds)
        if disk is None:
            report.add("the disk full", "not tried: it needs a file system of its own, which root may mount")
    return report


def _plan(chance: random.Random, seconds: float, *, with_disk: bool, with_clock: bool) -> list[tuple[float, Harm]]:
    """Moments and harms. The disk is full once, in the middle."""
    weights = _WEIGHTS | ({Harm.CLOCK: CLOCK_WEIGHT} if with_clock else {})
    moments, at, kinds = [], chance.uniform(LEAST_REST_SECONDS, LONGEST_REST_SECONDS), list(weights)
    while at < seconds:
        harm = chance.choices(kinds, weights=list(weights.values()))[0]
        moments.append((at, harm))
        at += chance.uniform(LEAST_REST_SECONDS, LONGEST_REST_SECONDS) + (2 * CLOCK_SECONDS if harm is Harm.CLOCK else 0)
    if with_disk and moments:
        moments[len(moments) // 2] = (moments[len(moments) // 2][0], Harm.DISK)
    return moments


def _rest(chaos: Chaos, until: float) -> None:
    while (left := until - time.monotonic()) > 0:
        chaos.measure_memory()
        time.sleep(min(left, 1.0))


@contextmanager
def _disk(*, is_wanted: bool) -> Iterator[Path | None]:
    """A disk of its own for everything that is started, so that it may be filled; None where we may not mount one."""
    folder = Path(tempfile.mkdtemp(prefix="evenhand-chaos-"))
    mount = ["/bin/mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)]
    is_mounted = is_wanted and subprocess.run(mount, capture_output=True, check=False).returncode == 0
    before = tempfile.tempdir
    try:
        if is_mounted:
            folder.chmod(0o711)
            tempfile.tempdir = str(folder)
            yield folder
        else:
            yield None
    finally:
        tempfile.tempdir = before
        if is_mounted:
            subprocess.run(["/bin/umount", str(folder)], check=False)
        folder.rmdir()


@contextmanager
def _chaos(made: Stage, disk: Path | None, clocks: Sequence[Clock]) -> Iterator[Chaos]:
    with httpx.Client(base_url=made.service.base_url, headers={"Authorization": f"Bearer {made.key}"}) as http:
        create(http, deployment(GATED, made.model.url))
        create(http, deployment(SPOOLED, None))
        rule = {"name": "Unfair in one check", "condition": {"kind": "verdict", "attributes": ["sex"], "checks_in_a_row": 1}}
        for name in CHECKED:
            http.put(f"/v1/deployments/{name}/alert-rules/at-once", json=rule).raise_for_status()
            http.put(f"/v1/deployments/{name}/fairness-monitor", json=monitor(min_records=10)).raise_for_status()
        for name in LOGGED if clocks else []:
            http.put(f"/v1/deployments/{name}/fairness-monitor", json=monitor(schedule="hourly")).raise_for_status()
    other = made.home / "second"
    other.mkdir()
    environment = {
        "DATABASE_URL": made.service.database_url,
        "EVENHAND_SECRET_KEY_FILE": str(made.home / "data" / "secret.key"),
        "EVENHAND_API_PROCESSES": str(API_PROCESSES),
        **(clocks[1].settings if clocks else {}),
    }
    second = Service(other, environment=environment)
    program = SpoolingProgram(made.home, made.service.base_url, made.key)
    second.start()
    program.start()
    chaos = Chaos(made, second, program, disk, dict(zip((made.service, second), clocks, strict=bool(clocks))))
    try:
        yield chaos
    finally:
        program.kill()
        second.end()
        chaos.models.close()


def _doors(chaos: Chaos) -> list[Door]:
    made, second = chaos.stage, chaos.second.base_url
    seeds = iter([made.chance.randrange(10**6) for _ in range(8)])
    first = made.service.base_url
    readers = [Reader(url, made.key, chaos.doors, [LOGGED[0], CHECKED[0], GATED], seed=next(seeds)) for url in (first, second)]
    callers = [Caller(url, made.key, chaos.doors, seed=next(seeds)) for url in (first, second)]
    senders = [Sender(url, made.key, chaos.doors, seed=next(seeds)) for url in (first, second)]
    return [*readers, *callers, *senders]


def _settle(chaos: Chaos) -> None:
    """Returns when nothing is on its way any more."""
    chaos.program.kill()
    chaos.program.start()
    chaos.program.kill()
    wait_until(lambda: chaos.program.drain() == 0, "the clients' spool is empty")
    spools = [folder / "spool" for folder in (chaos.stage.home / "data", chaos.stage.home / "second" / "data")]
    wait_until(lambda: not any(list(spool.glob("*/*.spool")) for spool in spools), "the spools of both services are empty")
    counted, quiet = -1, 0
    while quiet < QUIET_LOOKS:  # halves of calls may still be paired
        now = _stored(chaos, GATED).total()
        counted, quiet = now, quiet + 1 if now == counted else 0
        time.sleep(1)


def _report(report: Report, chaos: Chaos, historian: Historian, seconds: float) -> None:
    made = chaos.stage
    report.add("harms", ", ".join(f"{count} × {harm}" for harm, count in sorted(chaos.done.items())))
    truth = made.drain(12.0)
    with made.service.connect() as connection:
        report.add_records(count_records(connection, made.ledger, without=(GATED, SPOOLED, *historian.names)), made.ledger)
        again = recompute(connection, made.watch.moments)
    report.add_checks(truth, looks=made.watch.looks, wrong=made.watch.wrong, may_fail=True)
    report.add("figures of checks computed again from the records", f"{again.figures} of {again.checks} checks, {len(again.wrong)} differ")
    report.violations += again.wrong
    if chaos.clocks:
        _report_clocks(report, chaos)
    _report_evidence(report, made, historian.names + (LOGGED if chaos.clocks else []))
    report.violations += historian.wrong
    _report_doors(report, chaos)
    _report_alerts(report, made)
    _report_resources(report, chaos, seconds)


def _report_clocks(report: Report, chaos: Chaos) -> None:
    """Lets an hour end on both clocks, and looks whether its checks are made and nothing waits for the time that was shown."""
    for moved in chaos.clocks.values():
        moved.set(TO_THE_END)
    made = chaos.stage

    def is_checked() -> bool:
        return made.query(_UNCHECKED, [LOGGED]) == [(0,)]

    wait_until(is_checked, "the hours that have ended are checked")
    report.add("hours without their check, once they have ended", 0)
    for what, statement in LEFT_OF_WRONG_CLOCKS.items():
        ((left,),) = made.query(statement)
        report.add(f"  {what}", left)
        report.violations += [f"{left} {what}"] if left else []


_UNCHECKED = """
    SELECT count(*) FROM monitors m JOIN deployments d ON d.no = m.deployment_no
    CROSS JOIN generate_series(date_trunc('hour', m.scheduled_since), now() - interval '1 hour 1 minute', interval '1 hour') AS hour
    WHERE d.id = ANY(%s) AND hour > now() - interval '4 hours' AND NOT EXISTS (
        SELECT FROM checks c WHERE c.deployment_no = d.no AND c.trigger = 'schedule' AND c.span_start = hour AND c.state = 'succeeded'
          AND c.created_at <= now())
"""
LEFT_OF_WRONG_CLOCKS = {
    "checks wait for a time that was shown": "SELECT count(*) FROM checks WHERE claimable_at > now() + interval '1 hour'",
    "scheduled checks are of a time that was shown": "SELECT count(*) FROM checks WHERE trigger = 'schedule' AND span_end > now()",
    "alerts say that no records come": "SELECT count(*) FROM alerts WHERE kind = 'stale_data' AND resolved_at IS NULL",
    "hours are counted that have not ended": "SELECT count(*) FROM evidence_eras WHERE counted_until > now()",
    "workers are to answer later": "SELECT count(*) FROM workers WHERE beat_at > now()",
}


def _report_evidence(report: Report, made: Stage, names: Sequence[str]) -> None:
    with (
        httpx.Client(base_url=made.service.base_url, headers={"Authorization": f"Bearer {made.key}"}, timeout=60) as http,
        made.service.connect() as connection,
    ):
        for name in names:
            wait_until(partial(is_followed, connection, http, name), f"the evidence of {name} is collected")
        again = follow_again(connection, http, names)
    report.add(
        "evidence of histories computed again in one go",
        f"{again.comparisons} comparisons over {again.hours} hours of {again.histories} histories, {again.alarms} alarms,"
        f" {len(again.wrong)} differ",
    )
    report.violations += again.wrong


def _report_doors(report: Report, chaos: Chaos) -> None:
    stored, by_client = _stored(chaos, GATED), _stored(chaos, SPOOLED)
    calls, events, durable = chaos.doors.answered - stored.keys(), chaos.doors.accepted - stored.keys(), chaos.program.durable()
    ((counted,),) = chaos.stage.query(
        "SELECT coalesce(sum(m.not_received), 0) FROM missing_records m JOIN deployments d ON d.no = m.deployment_no WHERE d.id = %s",
        [GATED],
    )
    report.add("calls answered by the gateway / not stored", f"{len(chaos.doors.answered)} / {len(calls)}")
    report.add("calls reported by events / not stored", f"{len(chaos.doors.accepted)} / {len(events)}")
    # The other half found no room: it is counted as an orphan once it has waited long enough.
    ((waiting,),) = chaos.stage.query("SELECT count(*) FROM call_halves")
    report.add("  counted as not received / half of it waits", f"{counted} / {waiting}")
    if len(calls) + len(events) > counted + waiting:
        some = sorted(calls | events)[:3]
        report.violations.append(
            f"{len(calls) + len(events)} calls are not stored; {counted} are counted, {waiting} wait; for instance {some}"
        )
    lost = durable - by_client.keys()
    report.add("records on a client's disk / lost", f"{len(durable)} / {len(lost)}")
    report.violations += [f"{len(lost)} records of a client's disk are lost, for instance {sorted(lost)[:3]}"] if lost else []
    twice = [record_id for found in (stored, by_client) for record_id, times in found.items() if times > 1]
    report.add("  of them stored twice", len(twice))
    report.violations += [f"{len(twice)} records are stored twice"] if twice else []
    counts = Counter({f"{door} {status}": count for (door, status), count in chaos.doors.statuses.items()})
    report.add("answers by door and status", ", ".join(f"{name}: {count}" for name, count in sorted(counts.items())))
    report.add("  that should not come", len(chaos.doors.wrong))
    report.violations += sorted(set(chaos.doors.wrong))


def _report_alerts(report: Report, made: Stage) -> None:
    ((alerts, again),) = made.query(
        "SELECT count(*), count(*) - count(DISTINCT (deployment_no, subject)) FROM alerts a WHERE resolved_at IS NULL AND EXISTS"
        " (SELECT FROM alert_figures f WHERE f.alert_no = a.no AND f.rule_id = 'at-once')"
    )
    report.add("open alerts of single checks / opened twice", f"{alerts} / {again}")
    report.violations += [f"{again} alerts are open twice"] if again else []


def _report_resources(report: Report, chaos: Chaos, seconds: float) -> None:
    ((connections, stuck),) = chaos.stage.query(
        "SELECT count(*), count(*) FILTER (WHERE state = 'idle in transaction' AND state_change < now() - interval '60 seconds')"
        " FROM pg_stat_activity WHERE application_name = 'evenhand'"
    )
    report.add("connections at the end / in a forgotten transaction", f"{connections} / {stuck}")
    if connections > CONNECTIONS or stuck:
        report.violations.append(f"{connections} connections are open, {stuck} in a transaction that nobody ends")
    for kind, seen in chaos.memory.items():
        began = min(at for at, _ in seen)
        first = max(size for at, size in seen if at - began < seconds / 3)
        last = max((size for at, size in seen if at - began > 2 * seconds / 3), default=first)
        report.add(f"most memory of {kind} processes, first / last third", f"{first / 2**20:.0f} / {last / 2**20:.0f} MiB")
        if last > GROWTH * first:
            report.violations.append(f"the memory of {kind} processes grew from {first / 2**20:.0f} to {last / 2**20:.0f} MiB")


def _stored(chaos: Chaos, name: str) -> Counter[str]:
    rows: list[tuple[Any, ...]] = chaos.stage.query(
        "SELECT r.record_id FROM payload_records r JOIN deployments d ON d.no = r.deployment_no WHERE d.id = %s", [name]
    )
    return Counter(record_id for (record_id,) in rows)


def _resident_bytes(pid: int) -> int:
    with suppress(OSError, IndexError, ValueError):
        return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0
