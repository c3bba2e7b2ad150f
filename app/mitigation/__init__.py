"""Mitigation of unfair outcomes: in each check (passive), on request (active). No label is ever used."""
