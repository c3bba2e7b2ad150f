"""One pure codec per payload format: bytes in, bytes out, no network."""
