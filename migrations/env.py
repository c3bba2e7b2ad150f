"""Alembic's entry: runs on the connection that `app.store.migrate` hands over, inside its transaction."""

from alembic import context

from app.store.tables import Row

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Row.metadata,
    include_object=lambda _object, name, kind, _reflected, _other: not (kind == "table" and str(name).startswith("payload_records_")),
)
with context.begin_transaction():
    context.run_migrations()
