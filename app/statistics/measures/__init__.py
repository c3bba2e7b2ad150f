"""Figures of tables of counts, by the catalogue."""
