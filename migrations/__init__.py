"""The history of the database's schema, applied by `evenhand migrate`."""
