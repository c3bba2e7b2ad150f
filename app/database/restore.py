"""Content and users of a database to restore into."""

from sqlalchemy import Connection

from .migrations import TAKE_MIGRATION_LOCK

_RELATIONS = """
SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f') AND n.nspname <> 'information_schema'
    AND n.nspname !~ '^pg_'
  AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
      AND d.deptype = 'e')
"""
"""Leaves out extensions' relations: managed servers put some into every new database."""

# Only superusers see the kind of other accounts' sessions.
_OTHER_SESSIONS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND coalesce(backend_type,
    'client backend') = 'client backend'
"""

_CLEAR_SCRIPT = """
DO $$
DECLARE name text;
BEGIN
    FOR name IN SELECT format('%I.%I', schemaname, tablename) FROM pg_tables
        WHERE schemaname = current_schema()
        AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = format('%I.%I', schemaname, tablename)::regclass
            AND deptype = 'e') LOOP
        EXECUTE 'DROP TABLE IF EXISTS ' || name || ' CASCADE';
    END LOOP;
    FOR name IN SELECT format('%I.%I', schemaname, sequencename) FROM pg_sequences
        WHERE schemaname = current_schema() LOOP
        EXECUTE 'DROP SEQUENCE IF EXISTS ' || name || ' CASCADE';
    END LOOP;
    FOR name IN SELECT oid::regprocedure::text FROM pg_proc
        WHERE pronamespace = current_schema()::regnamespace AND prokind = 'f'
        AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e') LOOP
        EXECUTE 'DROP FUNCTION IF EXISTS ' || name || ' CASCADE';
    END LOOP;
END $$;
"""


def is_empty(connection: Connection) -> bool:
    return connection.exec_driver_sql(_RELATIONS).scalar() == 0


def count_other_connections(connection: Connection) -> int:
    return int(connection.exec_driver_sql(_OTHER_SESSIONS).scalar_one())


def write_statements_before_restore(*, clears: bool) -> str:
    return TAKE_MIGRATION_LOCK + (_CLEAR_SCRIPT if clears else "")
