"""The bias detector."""
