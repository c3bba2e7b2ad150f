"""Compares the tabulation of records in files with a bare count of the same columns, in one run, at two sizes.

Each size is counted in a process of its own, so that its peak of memory is its own; of three rounds in turn the fastest counts. With
`--spark`, the engine `spark` is compared with Spark's own `groupBy().count()`, too. Goals: 1.5 times the bare count for `local`, 2 times
for `spark`, and memory that does not grow (with `spark` that of the executors' Python, too: their Java takes what its heap allows).
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from app.base.values import Range
from app.checks.counting.count_files import count_span
from app.checks.subject import Subject
from app.domain.check import CheckRun, CheckState, Span, Trigger
from app.domain.deployment import Deployment, FieldType, OutputFields, PayloadColumns, PayloadTable, ProblemType, RecordSchema
from app.domain.monitor import Monitor, MonitoredAttribute, OutcomeRule
from app.sources.tables.record_files import PayloadFiles
from app.sources.tables.table_files import Engine, open_engine
from scripts.arguments import make_parser
from scripts.benchmarks.lines import Line, show_lines
from scripts.benchmarks.peak import Peak
from scripts.benchmarks.staging import columns_of
from scripts.trials.spark_processes import executors_megabytes, peak_megabytes

START = datetime(2026, 3, 2, tzinfo=UTC)
RECORDS_A_FILE = 1_000_000
COLUMNS = PayloadColumns(probability="probability", model_revision="revision")
COUNTED = ["sex", "age", "prediction", "revision"]
MISSING, OLD = 0.01, 0.1
GOALS = {"local": 1.5, "spark": 2.0}
GOAL_GROWTH = 1.5
ROUNDS = 3


def generate(folder: Path, millions: int) -> None:
    """Writes that many files of a million records, each file of a day."""
    folder.mkdir(parents=True, exist_ok=True)
    for no in range(millions):
        file = folder / f"part-{no:04}.parquet"
        if file.exists():
            continue
        random = np.random.default_rng(no)
        size = RECORDS_A_FILE
        sex = pa.DictionaryArray.from_arrays(random.integers(0, 3, size, dtype=np.int8), ["female", "male", "other"])
        age = random.integers(18, 90, size)
        offsets = np.sort(random.integers(0, 86_400_000_000, size))
        start = int((START + timedelta(days=no)).timestamp() * 1_000_000)
        prediction = (random.random(size) < 0.4 + 0.1 * (np.asarray(sex.indices) == 1)).astype(np.int64)
        columns = {
            "id": pa.array([f"{no:04}-{one:07}" for one in range(size)]),
            "scored_at": pa.array(offsets + start, pa.timestamp("us", "UTC")),
            "sex": sex.cast(pa.string()),
            "age": pa.array(age, mask=random.random(size) < MISSING),
            "income": pa.array(random.lognormal(10, 1, size).round(2)),
            "prediction": pa.array(prediction),
            "probability": pa.array(random.random(size)),
            "revision": pa.array(np.where(random.random(size) < OLD, "1", "2")),
        }
        pq.write_table(pa.table(columns), file, row_group_size=250_000)


def subject_of(millions: int) -> Subject:
    columns = columns_of({"sex": FieldType.STRING, "age": FieldType.INTEGER, "income": FieldType.NUMBER})
    deployment = Deployment(
        no=1,
        id="bench",
        name="Bench",
        problem_type=ProblemType.BINARY,
        schema=RecordSchema(version=1, features=columns, meta=()),
        outputs=OutputFields(prediction="prediction"),
        model_revision="2",
        endpoint=None,
        created_at=START,
        updated_at=START,
    )
    monitor = Monitor(
        outcomes=OutcomeRule(favourable=(1,), unfavourable=(0,)),
        attributes=(
            MonitoredAttribute(feature="sex", monitored=("female",), reference=("male",)),
            MonitoredAttribute(feature="age", monitored=(Range(18, 25),), reference=(Range(26, 75),)),
        ),
        intersections=(("sex", "age"),),
    )
    run = CheckRun(
        no=1,
        id="bench",
        deployment_no=1,
        deployment_id="bench",
        trigger=Trigger.RANGE,
        state=CheckState.RUNNING,
        span=Span(start=START, end=START + timedelta(days=millions)),
        attempts=1,
        lease_token=None,
        progress=None,
        reason=None,
        window=None,
        created_at=START,
        started_at=START,
        finished_at=None,
        next_attempt_at=None,
    )
    return Subject(run, deployment, monitor)


def count_bare(folder: Path) -> int:
    """Counts by the columns with pyarrow and nothing else; returns the number of records."""
    table = ds.dataset(folder, format="parquet").to_table(columns=COUNTED)
    return int(sum(table.group_by(COUNTED).aggregate([([], "count_all")])["count_all"].to_pylist()))


def count_by_spark(folder: Path, url: str) -> int:
    from app.sources.tables.spark_engine import open_session  # noqa: PLC0415 - an extra that few installations have

    counted = open_session(url).read.parquet(str(folder)).groupBy(*COUNTED).count().toArrow()
    return int(sum(counted["count"].to_pylist()))


def tabulate(folder: Path, millions: int, engine: Engine) -> int:
    subject = subject_of(millions)
    files = PayloadFiles(subject.deployment, PayloadTable(location=str(folder), columns=COLUMNS), (folder,))
    return count_span(files, subject, lambda _: None, engine).counts["records"]


def measure(folder: Path, millions: int, what: str, url: str) -> dict[str, float]:
    """Runs one of the counts in this process; returns its seconds and the peak of its memory [MB]."""
    if what == "bare":
        count = partial(count_bare, folder)
    elif what == "bare-spark":
        count = partial(count_by_spark, folder, url)
    else:
        count = partial(tabulate, folder, millions, open_engine(what, url))
    found = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        counted = count()
        found.append(time.perf_counter() - start)
        if counted != millions * RECORDS_A_FILE:
            raise SystemExit(f"counted {counted:,} records, and there are {millions} million")
    return {"seconds": min(found), "peak": peak_megabytes()}


def measured(folder: Path, millions: int, what: str, url: str) -> dict[str, float]:
    arguments = [sys.executable, "-P", __file__, "--folder", str(folder), "--only", what, "--millions", str(millions), "--spark", url]
    with Peak(executors_megabytes) if "spark" in what else nullcontext() as python:
        answer = subprocess.run(arguments, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(answer.stdout.splitlines()[-1])
    return found if python is None else found | {"python": python.peak}


def main() -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--millions", type=int, nargs="+", default=[5, 50])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--spark", default="")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        print(json.dumps(measure(options.folder, options.millions[0], options.only, options.spark)))
        return 0
    engines = ["local", *(["spark"] if options.spark else [])]
    lines: list[Line] = []
    with tempfile.TemporaryDirectory() as temporary:
        peaks = defaultdict[str, list[float]](list)
        for millions in options.millions:
            folder = (options.folder or Path(temporary)) / str(millions)
            generate(folder, millions)
            for engine in engines:
                bare = measured(folder, millions, "bare-spark" if engine == "spark" else "bare", options.spark)
                ours = measured(folder, millions, engine, options.spark)
                ratio = ours["seconds"] / bare["seconds"]
                peaks[engine].append(ours["peak"])
                lines.append(Line(f"batch: {engine}, {millions} million records / bare count, time", ratio, GOALS[engine], is_most=True))
                print(
                    f"{millions:>3} million, {engine:<5}: {millions / ours['seconds']:6.2f} million records/s, bare count "
                    f"{millions / bare['seconds']:6.2f}; peak of memory {ours['peak']:,.0f} MB",
                    flush=True,
                )
                if "python" in ours:
                    peaks["executors' Python"].append(ours["python"])
        for engine, found in peaks.items():
            growth = max(found) / min(found)
            lines.append(Line(f"batch: {engine}, peak of memory, larger size / smaller", growth, GOAL_GROWTH, is_most=True))
    return 0 if show_lines(lines) else 1


if __name__ == "__main__":
    sys.exit(main())
