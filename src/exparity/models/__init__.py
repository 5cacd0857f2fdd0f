"""Classifiers: loading checkpoints, building models from scratch, fine-tuning them."""
