"""Keys, users, sessions, roles and the audit log; the gate before each route."""
