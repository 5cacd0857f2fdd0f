"""What everything rests on: errors, options, registries, seeds; nothing of data or models."""
