"""What the numeric statements of the studies count, as data.

A rule says which cells a statement covers and what it counts in them. The covered cells are those
that the text names. Statements on GECO outside of section 5.4 cover the pretrained models: only so
do the tables sum to what the text says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Counted = Literal["runs", "significant", "considerable"]
Bound = Literal["is", "above", "below"]


@dataclass(frozen=True)
class Rule:
    """What a statement counts.

    Attributes:
        counts: runs; significant runs; or significant runs of cells whose mean effect is
            considerable, as the study counts them.
        where: allowed ids by ``dataset``, ``method``, ``metric``, ``model``; and ``training``.
        smallest_by: the statement is on the smallest of these groups; on all cells if None.
        bound: whether the printed number is the value, or a strict bound of it.
    """

    counts: Counted
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    smallest_by: Literal["model", "method"] | None = None
    bound: Bound = "is"


@dataclass(frozen=True)
class Setting:
    """A statement on how the study was run, not on what it found.

    Attributes:
        name: ``alpha``, ``threshold``, ``seeds`` or ``scratch_epochs``.
    """

    name: str


_GECO = ("geco_all", "geco_subj")
_HARD = ("comprehensiveness", "sufficiency")
_SOFT = ("soft_comprehensiveness", "soft_sufficiency")
_METHODS = (
    "integrated_gradients_x_input",
    "shap",
    "lime",
    "gradient",
    "gradient_x_input",
    "integrated_gradients",
)


def _on(counts: Counted, datasets: tuple[str, ...], *metrics: str, bound: Bound = "is") -> Rule:
    where = {"dataset": datasets, "metric": metrics, "training": ("pretrained",)}
    return Rule(counts, where, bound=bound)


def _complexity(name: str, datasets: tuple[str, ...]) -> dict[str, Rule]:
    return {
        f"{name}_{metric}_{counts}": _on(counts, datasets, metric)
        for metric in ("gini", "sparsity")
        for counts in ("significant", "considerable")
    }


_DHAINI: dict[str, Rule | Setting] = {
    "sig_p_threshold": Setting("alpha"),
    "effect_threshold": Setting("threshold"),
    "runs_per_cell": Setting("seeds"),
    "total_combinations": Rule("runs"),
    "total_significant": Rule("significant"),
    "total_significant_share": Rule("significant"),
    "total_considerable": Rule("considerable"),
    "total_considerable_share": Rule("considerable"),
    **{f"method_considerable_{m}": Rule("considerable", {"method": (m,)}) for m in _METHODS},
    "method_considerable_min": Rule("considerable", smallest_by="method", bound="above"),
    "geco_soft_significant": _on("significant", _GECO, *_SOFT, bound="above"),
    "geco_soft_considerable": _on("considerable", _GECO, *_SOFT),
    "geco_subj_soft_significant": _on("significant", ("geco_subj",), *_SOFT),
    "compas_soft_significant": _on("significant", ("compas",), *_SOFT, bound="below"),
    "stereotypes_soft_significant": _on("significant", ("stereotypes",), *_SOFT, bound="below"),
    "compas_hard_significant": _on("significant", ("compas",), *_HARD),
    "stereotypes_hard_significant": _on("significant", ("stereotypes",), *_HARD),
    **_complexity("geco", _GECO),
    **_complexity("compas", ("compas",)),
    **_complexity("stereotypes", ("stereotypes",)),
    "geco_sensitivity_considerable": _on("considerable", _GECO, "sensitivity"),
    "stereotypes_sensitivity_considerable": _on("considerable", ("stereotypes",), "sensitivity"),
    "compas_sensitivity_considerable": _on("considerable", ("compas",), "sensitivity"),
    "geco_roberta_sensitivity_significant": Rule(
        "significant",
        {"dataset": _GECO, "metric": ("sensitivity",), "model": ("roberta_large",)},
    ),
    "scratch_significant": Rule(
        "significant", {"training": ("scratch",)}, smallest_by="model", bound="above"
    ),
    "scratch_epochs": Setting("scratch_epochs"),
}

RULES: dict[str, Mapping[str, Rule | Setting]] = {"dhaini2025": _DHAINI}
