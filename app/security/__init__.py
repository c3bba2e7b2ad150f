"""Authentication, from a header to a principal with permissions, and the encryption of stored secrets."""
