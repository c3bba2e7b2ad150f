"""The objects that live as long as the process."""

from app.services.open import Services, open_services

__all__ = ["Services", "open_services"]
