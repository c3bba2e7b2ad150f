"""Tables that rules on selection ask for: counts of categories in, rates, ratios, tests and flags out. Nothing here is legal advice."""
