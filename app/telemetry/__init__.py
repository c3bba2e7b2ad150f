"""Operations only: structured logs without secrets, and counters for Prometheus."""
