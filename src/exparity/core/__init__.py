"""Foundations: errors, options, registries, seeds; nothing of data or models."""
