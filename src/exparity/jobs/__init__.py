"""Safety of jobs: locks, parts of unfinished work, stopping, leftovers of a killed run."""
