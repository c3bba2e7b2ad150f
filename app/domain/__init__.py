"""The words of the product. Standard library only; no I/O, no clock."""
