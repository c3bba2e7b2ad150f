"""Reports for a regulator on the people of a period, from the live log. Not legal advice."""
