"""A run of the workflow: how it begins beside others, what it goes on with, and how it ends."""
