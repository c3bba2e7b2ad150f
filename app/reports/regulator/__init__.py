"""The report that a regulator keeps: sheets on the people of a period, from the live log."""
