"""A payload format is a class in a module of its family and one row of the registry: nothing else in the product names it."""

import ast
import re
from pathlib import Path

from app.payloads.registry import FORMS, PayloadFormat
from tests.builders.sources import nodes_of

REPOSITORY = Path(__file__).resolve().parents[2]
APP = REPOSITORY / "app"

NAMES = {name for row in PayloadFormat for name in (row.name, row.value)} | {form.name for form in FORMS}

EXCEPTIONS = {
    "domain/deployment.py": "the format of an endpoint that names none",
    "deployments/bodies.py": "the example",
    "deployments/endpoint_bodies.py": "the format of an endpoint that names none, that of a loaded model, and examples",
    "checks/endpoint_test/bodies.py": "an example",
    "pages/static/examples.js": "reads columns out of a sample in the browser, from the forms that it knows",
    "calls/scoring/model_process.py": "the package that loads a model, which has the same name",
    "cli/example/small_model.py": "the example's model, which is a client's and shares no code with the service",
}


def named(path: Path) -> set[str]:
    """The formats and forms that a file names: in Python as a whole text or a member, elsewhere as a word."""
    source = path.read_text(encoding="utf-8")
    words = NAMES & set(re.findall(r"\w+", source))
    if path.suffix != ".py" or not words:
        return words
    nodes = nodes_of(source)
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return NAMES & (texts | {node.attr for node in nodes if isinstance(node, ast.Attribute)})


def test_only_its_own_module_and_its_row_name_a_payload_format() -> None:
    files = {path.relative_to(APP).as_posix(): path for suffix in ("py", "js", "html") for path in sorted(APP.rglob(f"*.{suffix}"))}
    outside = {name for name, path in files.items() if not name.startswith("payloads/") and named(path)}

    assert outside == set(EXCEPTIONS)


def test_a_format_has_one_class_and_the_registry_alone_imports_its_module() -> None:
    modules = {type(row.codec).__module__ for row in PayloadFormat}
    sources = {path: path.read_text(encoding="utf-8") for path in sorted(APP.rglob("*.py"))}
    names = {module.rpartition(".")[2] for module in modules}
    importers = {
        path.relative_to(APP).as_posix()
        for path, text in sources.items()
        if set(re.findall(r"^from \.[\w.]*?(\w+) import", text, re.MULTILINE)) & names
    }

    assert len({type(row.codec) for row in PayloadFormat}) == len(PayloadFormat)
    assert importers == {"payloads/registry.py"}
    for module in modules:
        others = [form.name for row in PayloadFormat if type(row.codec).__module__ != module for form in row.codec.forms]
        assert named(APP / f"{module.removeprefix('app.').replace('.', '/')}.py").isdisjoint(others)
