"""Retention, legal holds, erasures, and the deletion of records with what was derived."""
