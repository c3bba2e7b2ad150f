"""Attacks on a running service: who may call which operation, what an address without a key can make it use, and fuzzing."""
