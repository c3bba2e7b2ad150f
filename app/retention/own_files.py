"""Kept answers about records in tables live as long as the policies of all deployments that share them."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import structlog

from ..batch.own_files import OwnPlaces, delete_all
from ..store.database.engine import Database
from ..store.retention.own_files import deleted_tables, payload_tables

log = structlog.get_logger("evenhand.retention")


def answers_to_erase(database: Database, places: OwnPlaces, cut_offs: Mapping[int, datetime]) -> dict[int, tuple[Path, datetime]]:
    """Returns folders of kept answers and the time of aged ones, by the first deployment that has the folder.

    A folder is left alone while one of its deployments is on hold, or keeps answers.
    """
    with database.transaction() as session:
        tables = payload_tables(session)
    owners = defaultdict[Path, list[int]](list)
    for no, (deployment_id, table) in tables.items():
        folder = places.folder(deployment_id, table)
        if folder is not None:
            owners[folder].append(no)
    shared = {folder: sorted(found) for folder, found in owners.items() if all(no in cut_offs for no in found)}
    return {found[0]: (folder, min(cut_offs[no] for no in found)) for folder, found in shared.items()}


def delete_left_files(database: Database, places: OwnPlaces) -> int:
    """Deletes the files of deleted deployments, unless another has the folder; returns how many."""
    with database.transaction() as session:
        present, deleted = payload_tables(session), deleted_tables(session)
    in_use = {places.folder(deployment_id, table) for deployment_id, table in present.values()}
    count = 0
    for deployment_id, table in deleted:
        folder = places.folder(deployment_id, table)
        if folder is None or folder in in_use:
            continue
        files = delete_all(folder)
        count += files
        if files:
            log.info("files_of_deleted_deployment_deleted", deployment=deployment_id, folder=str(folder), files=files)
    return count
