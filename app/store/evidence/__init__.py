"""Evidence over time: which hours are counted, their counts, and the states that rest on them."""
