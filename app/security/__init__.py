"""Authentication, permissions, and the encryption of stored secrets."""
