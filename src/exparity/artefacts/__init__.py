"""The tables of results: what they hold, where they lie, how they are written and read."""
