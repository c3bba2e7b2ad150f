"""Objects that live as long as the process."""

from .open import Services, open_services

__all__ = ["Services", "open_services"]
