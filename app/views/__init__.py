"""Views for people: read the store, write nothing."""
