"""Folders of object stores and of this machine, as PyArrow's file systems."""

import os
import re
from functools import cache
from urllib.parse import urlsplit

from pyarrow import fs

from ..telemetry.secrets import without_secrets

STORES = "s3://, gs:// or abfs://"

PATIENCE_SECONDS = 30
"""Max seconds for which a request to Google is repeated; Arrow's own is a quarter of an hour."""


def is_in_store(location: str) -> bool:
    return "://" in location


def open_folder(location: str) -> fs.FileSystem:
    """Returns a file system whose paths are below the folder."""
    if not is_in_store(location):
        return fs.SubTreeFileSystem(location, fs.LocalFileSystem())
    address = urlsplit(location)
    container, _, host = address.netloc.partition("@")
    return fs.SubTreeFileSystem(container + address.path, _open_store(address.scheme, container, host.partition(".")[0]))


@cache
def _open_store(scheme: str, container: str, account: str) -> fs.FileSystem:
    if scheme in {"s3", "gs"}:
        # By address: so Arrow finds the bucket's region, and reads the variable of another server.
        patience = f"?retry_limit_seconds={PATIENCE_SECONDS}" if scheme == "gs" else ""
        return fs.FileSystem.from_uri(f"{scheme}://{container}{patience}")[0]
    # Of Azure's variables, Arrow reads those of identities; deltalake reads these, too.
    options = {"account_key": os.environ.get("AZURE_STORAGE_ACCOUNT_KEY")}
    if token := os.environ.get("AZURE_STORAGE_SAS_TOKEN"):
        options["sas_token"] = f"?{token.removeprefix('?')}"  # added to the address as it is
    endpoint = urlsplit(os.environ.get("AZURE_STORAGE_ENDPOINT", ""))
    for service in ("blob", "dfs"):
        options |= {f"{service}_storage_authority": endpoint.netloc, f"{service}_storage_scheme": endpoint.scheme}
    account = account or os.environ.get("AZURE_STORAGE_ACCOUNT_NAME", "")
    return fs.AzureFileSystem(account, **{name: value for name, value in options.items() if value})


def text_of(error: Exception) -> str:
    """Returns a library's message in one line, without secrets."""
    return without_secrets(" ".join(re.sub(r"\x1b\[\d+m", "", str(error)).split()))
