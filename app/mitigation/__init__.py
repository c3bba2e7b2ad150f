"""Mitigation of unfair outcomes: in each check (passive), on request (active), and the bias detector. No label is ever used."""
