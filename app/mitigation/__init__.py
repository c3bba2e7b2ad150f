"""Mitigation of unfair outcomes: in each check, and on request. No label is ever used."""
