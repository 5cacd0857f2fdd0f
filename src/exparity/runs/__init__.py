"""A run of the workflow: how it begins beside others, what it goes on with, and how it ends."""

CAUTION = "exparity: caution: "
"""What a line begins with that a run prints of a job that has finished."""
