"""Only these modules divide a text into cells: each further one reads some cell otherwise than the others do."""

import ast
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
FOLDERS = ("app", "client/evenhand_client", "openscale/evenhand_openscale")

WORDS = ("csv", "read_table", "read_excel", "read_fwf", "genfromtxt", "loadtxt")
"""A module without any of them is none, and is not parsed."""

LIBRARY = {
    *("csv.reader", "csv.DictReader", "csv.Sniffer", "arrow_csv.open_csv", "arrow_csv.read_csv"),
    *(f"{pandas}.read_{kind}" for pandas in ("pd", "pandas") for kind in ("csv", "table", "excel", "fwf")),
    *("np.genfromtxt", "np.loadtxt"),
}

READERS = {
    "app/cli/library/metrics_files.py": "files of commands",
    "app/base/spreadsheets.py": "first lines, by which the separator is found",
    "app/intake/imports/flat_tables.py": "files of records",
    "app/intake/logging/log_request.py": "feedback as CSV",
    "app/payloads/csv_text.py": "requests and answers of models; of our own, because there a quoted 1 is a text and a bare one a number",
    "app/reports/regulator/embedded_data.py": "our own reports, which are verified",
    "app/deployments/training/typed_column.py": "training data",
    "openscale/evenhand_openscale/records.py": "feedback of the OpenScale SDK",
}


def find_readers(repository: Path) -> set[str]:
    """The modules that call a reader of tables, or have one of their own."""
    files = [file for folder in FOLDERS for file in sorted((repository / folder).rglob("*.py"))]
    sources = {file.relative_to(repository).as_posix(): file.read_text(encoding="utf-8") for file in files}
    likely = {name: source for name, source in sources.items() if any(word in source for word in WORDS)}
    return {name for name, source in likely.items() if any(_calls(ast.parse(source)))}


def _calls(tree: ast.Module) -> Iterator[bool]:
    for node in ast.walk(tree):
        yield isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and f"{node.value.id}.{node.attr}" in LIBRARY
        yield isinstance(node, ast.FunctionDef) and node.name == "_read_bare"


def test_no_further_module_divides_text_into_cells() -> None:
    assert find_readers(REPOSITORY) == READERS.keys()
