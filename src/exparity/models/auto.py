"""transformers' Auto classes, to which exparity's own architectures are known."""

from __future__ import annotations

from transformers import CONFIG_MAPPING, AutoConfig, AutoModelForSequenceClassification

import exparity.models.ola  # noqa: F401  (makes its model type known)

__all__ = ["CONFIG_MAPPING", "AutoConfig", "AutoModelForSequenceClassification"]
