"""What names an artefact and a job: the ids of its cell; and what an artefact says of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


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


class Provenance(dict[str, Any]):
    """What an artefact says of itself, by name; what most readers need are attributes as well."""

    @property
    def ids(self) -> Ids:
        """The ids in its path."""
        return Ids(self["wildcards"])

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What its rows depend on."""
        parameters: Mapping[str, Any] = self["parameters"]
        return parameters

    @property
    def groups(self) -> Sequence[str]:
        """The groups, in their declared order."""
        return list(self["groups"])

    @property
    def compared(self) -> dict[str, Any]:
        """The groups, and what they are groups of, as further artefacts name them."""
        return {name: self[name] for name in ("groups", "attribute")}

    @property
    def labels(self) -> Sequence[str]:
        """The classes, by index."""
        return list(self["labels"])

    @property
    def n_rows(self) -> int:
        """Its number of rows."""
        return int(self["rows"])

    @property
    def flags(self) -> Sequence[str]:
        """Its flags, if it has any."""
        return list(self.get("flags", ()))

    @property
    def use(self) -> str:
        """Registered id of the method or metric that made it; empty of what neither did."""
        return str(self.parameters.get("use", ""))

    @property
    def params(self) -> Mapping[str, Any]:
        """Options of that method or metric."""
        params: Mapping[str, Any] = self.parameters.get("params", {})
        return params
