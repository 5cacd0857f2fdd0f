"""Published numbers of GECOBench (Wilming et al. 2024), by the ids of exparity."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from exparity.published.study import published_table

REFERENCE = "Wilming et al. 2024, arXiv:2406.11547"
DATASETS = ("geco_all", "geco_subj")
_STUDY = "gecobench2024"


class Published(NamedTuple):
    """A printed number, or the mean over runs, as a share; and their standard deviation, if any."""

    mean: float
    sd: float | None = None


@cache
def accuracies() -> dict[tuple[str, str], Published]:
    """Return the test accuracy by (scheme, dataset), from Table 2."""
    return {
        (row["scheme"], row["dataset"]): Published(
            float(row["accuracy_mean"]) / 100, float(row["accuracy_std"]) / 100
        )
        for row in published_table(_STUDY, "accuracy")
    }


@cache
def model_bias() -> dict[tuple[str, str, str], Published]:
    """Return TPR, TNR and average prediction difference by (scheme, dataset, measure), Table 4.

    Standard deviations are left out: they look like shares beside means in percent.
    """
    return {
        (row["scheme"], row["dataset"], row["metric"]): Published(float(row["mean"]) / 100)
        for row in published_table(_STUDY, "bias")
    }


@cache
def dataset_facts() -> dict[tuple[str, str], float]:
    """Return numbers on the datasets by (dataset, quantity), from sections 2.1 and A.1."""
    return {
        (row["dataset"], row["quantity"]): float(row["value"])
        for row in published_table(_STUDY, "dataset")
    }


@cache
def statements(ranked: str) -> list[dict[str, str]]:
    """Return what is said of mass accuracy of ``methods`` or ``schemes``, printed in figures."""
    return [row for row in published_table(_STUDY, "claims") if row["ranked"] == ranked]


def schemes_of(options: Mapping[str, Any]) -> dict[str, str]:
    """Return our models that are a published training scheme, by id."""
    schemes = {scheme for scheme, _ in accuracies()}
    return {model: known for model, known in options.get("models", ()) if known in schemes}
