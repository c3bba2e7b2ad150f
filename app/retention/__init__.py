"""Ends the storage of records: by age, as each deployment's policy says, and on request for one person. Legal holds come first."""
