"""Policies of retention, legal holds, erasures, and the deletion of records with everything that was derived from each."""
