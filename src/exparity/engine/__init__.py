"""The engine: the one place that runs a model."""
