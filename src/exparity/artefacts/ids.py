"""Ids of the cell of an artefact or a job, and facts that an artefact states of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from exparity.core.plain import as_float, as_int, as_list, as_mapping, as_text, as_texts


class Ids(dict[str, str | int]):
    """Ids of a cell by their level, such as ``dataset``.

    Each is an attribute as well. One that the cell lacks raises a KeyError.
    """

    @property
    def dataset(self) -> str:
        """The dataset."""
        return str(self["dataset"])

    @property
    def model(self) -> str:
        """The model."""
        return str(self["model"])

    @property
    def seed(self) -> int:
        """Seed of the training."""
        return int(self["seed"])

    @property
    def method(self) -> str:
        """The method."""
        return str(self["method"])

    @property
    def metric(self) -> str:
        """The metric."""
        return str(self["metric"])

    def only(self, *levels: str) -> Ids:
        """Return the ids of some levels."""
        return Ids({level: self[level] for level in levels})

    def without(self, level: str) -> Ids:
        """Return the ids of all other levels."""
        return Ids({other: value for other, value in self.items() if other != level})


class Provenance(dict[str, object]):
    """Facts that an artefact states of itself, by name; most readers need the attributes alone."""

    @property
    def ids(self) -> Ids:
        """The ids in its path."""
        ids = Ids()
        for level, value in as_mapping(self["wildcards"]).items():
            ids[level] = value if isinstance(value, int) else as_text(value)
        return ids

    @property
    def parameters(self) -> Mapping[str, object]:
        """Facts that its rows depend on."""
        return as_mapping(self["parameters"])

    @property
    def groups(self) -> Sequence[str]:
        """The groups, in their declared order."""
        return as_texts(self["groups"])

    @property
    def compared(self) -> dict[str, object]:
        """The groups, and what they are groups of, as further artefacts name them."""
        return {name: self[name] for name in ("groups", "attribute")}

    @property
    def labels(self) -> Sequence[str]:
        """The classes, by index."""
        return as_texts(self["labels"])

    @property
    def n_rows(self) -> int:
        """Its number of rows."""
        return as_int(self["rows"])

    @property
    def flags(self) -> Sequence[str]:
        """Its flags, if it has any."""
        return as_texts(self.get("flags", ()))

    @property
    def use(self) -> str:
        """Registered id of the method or metric that made it; empty of what neither did."""
        return str(self.parameters.get("use", ""))

    @property
    def params(self) -> Mapping[str, Any]:
        """Options of that method or metric."""
        return as_mapping(self.parameters.get("params", {}))

    @property
    def skill(self) -> Mapping[str, object]:
        """How the skill of a metric is measured; empty of a metric without."""
        return as_mapping(self.get("skill") or {})

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The least and the largest score of a metric; None where they are unknown."""
        if "bounds" not in self:
            return None
        low, high = as_list(self["bounds"])
        return as_float(low), as_float(high)
