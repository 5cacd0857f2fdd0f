"""What keeps jobs safe: locks, parts of unfinished work, stopping, leftovers of a killed run."""
