"""The rule for the MLflow models that may be loaded, which executes their code."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from ..base.errors import EndpointRefused
from ..base.values import printable

_REGISTERED_MODEL = re.compile(
    r"models:/(?P<name>[^/@\\?#%\0]+)(/(?P<version>[^/@\\?#%\0]+)|@(?P<alias>[^/@\\?#%\0]+))?"
)

_REGISTRY_PREFIX = "models:/"

MAX_FILES = 10_000


def check_model(uri: str, prefixes: Sequence[str]) -> str:
    """Returns the URI, of a folder the path without links; no model need be there. Raises EndpointRefused."""
    registered = _REGISTERED_MODEL.fullmatch(uri)
    is_path = Path(uri).is_absolute() and "\0" not in uri
    if not is_path and (registered is None or {".", ".."} & set(registered.groupdict().values())):
        raise EndpointRefused(
            "The URI of an MLflow model must be models:/NAME/VERSION, models:/NAME@ALIAS, or the whole path "
            "of a model's folder."
        )
    if not prefixes:
        raise _build_refusal(uri, "no MLflow model may be loaded here", registered)
    if registered:
        # models:/credit is not the beginning of models:/credit-cards/1.
        ends_at_a_name = {
            prefix: prefix.endswith("/") or uri[len(prefix) : len(prefix) + 1] in {"", "/", "@"}
            for prefix in prefixes
        }
        if not any(is_whole and uri.startswith(prefix) for prefix, is_whole in ends_at_a_name.items()):
            raise _build_refusal(uri, "the model is not among those that the operator allows", registered)
        return uri
    path = _resolve(Path(uri))
    if path is None or not _is_within(path, prefixes):
        # Not whether the folder exists: a caller must not learn about other files of the machine.
        raise _build_refusal(
            uri,
            "the folder is not within those that the operator allows, or is a link out of them",
            registered,
        )
    return str(path)


def check_files(uri: str, prefixes: Sequence[str]) -> str:
    """As `check_model`, and checks the links in the folder. Raises EndpointRefused."""
    checked = check_model(uri, prefixes)
    if checked.startswith(_REGISTRY_PREFIX):
        return checked
    unread_folders = [Path(checked)]
    visited = {Path(checked)}
    files = 0
    while unread_folders:
        # Folders that links lead to are read like the model's own.
        for file in _list_folder(unread_folders.pop()):
            files += 1
            if files > MAX_FILES:
                raise EndpointRefused(
                    f"The MLflow model {uri} has more than {MAX_FILES:,} files. Name the folder of one model."
                )
            target = _resolve(file)
            name = printable(str(file.relative_to(checked)) if file.is_relative_to(checked) else file.name)
            if target is None or not _is_within(target, prefixes):
                raise EndpointRefused(
                    f"The MLflow model {uri} holds the link {name}, which leads out of the folders that the "
                    "operator allows (EVENHAND_MODEL_PREFIXES). Put the file itself there."
                )
            if target.is_dir() and target not in visited:
                visited.add(target)
                unread_folders.append(target)
            elif target.exists() and not (target.is_file() or target.is_dir()):
                raise EndpointRefused(
                    f"The MLflow model {uri} holds {name}, which is no file: reading it may never end. "
                    "Remove it."
                )
    return checked


def _list_folder(folder: Path) -> Iterator[Path]:
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            yield Path(entry.path)


def _build_refusal(uri: str, reason: str, registered: re.Match[str] | None) -> EndpointRefused:
    entry = str(Path(uri).parent) if registered is None else f"{_REGISTRY_PREFIX}{registered['name']}"
    return EndpointRefused(
        f"The MLflow model {uri} cannot be used: {reason}. Loading a model executes its code, so it must be "
        "allowed: start the service"
        f" and its workers with EVENHAND_MODEL_PREFIXES={entry} (several with commas)."
    )


def _is_within(resolved: Path, prefixes: Sequence[str]) -> bool:
    roots = [_resolve(Path(prefix)) for prefix in prefixes if Path(prefix).is_absolute()]
    return any(resolved.is_relative_to(root) for root in roots if root is not None)


def _resolve(path: Path) -> Path | None:
    try:
        resolved = path.resolve()
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            resolved.stat()  # from Python 3.13 on, resolve() leaves a loop of links as it is
    except (OSError, RuntimeError):  # a loop of links
        return None
    return resolved
