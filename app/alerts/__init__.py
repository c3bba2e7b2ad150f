"""Alerts to people: rules over ended checks, alerts from opening to resolution, and their delivery."""
