"""Alembic's entry: runs on the connection and with the tables that `app/database/migrations.py` passes in, inside its transaction."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=context.config.attributes["metadata"],
    include_object=lambda _object, name, kind, _reflected, _other: not (kind == "table" and str(name).startswith("payload_records_")),
)
with context.begin_transaction():
    context.run_migrations()
