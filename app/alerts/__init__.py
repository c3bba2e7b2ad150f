"""Tell people: rules over ended checks, alerts with a life of their own, and their delivery."""
