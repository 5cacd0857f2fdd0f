"""The grid of an experiment: its cells, and the settings of the report that shows them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from exparity.artefacts.columns import records
from exparity.core.errors import InputError
from exparity.core.plain import as_mapping, as_texts
from exparity.core.settings import Controls, Report, StudyStatistics
from exparity.core.strict import canonical
from exparity.core.validation import read_settings

GRID = "grid.json"
"""File of the results folder that holds the grid of the last run, and a digest of it."""
_DIGEST = "sha256"


@dataclass(frozen=True)
class _Written:
    """The keys that each grid.json has, as JSON has their values."""

    pairs: list[list[str]]
    seeds: list[int]
    methods: dict[str, str]
    metrics: dict[str, str]
    analyses: dict[str, list[list[str]]]
    title: str
    datasets: dict[str, str]
    models: dict[str, str]
    study: str
    statistics: dict[str, object]
    controls: dict[str, object]
    report: dict[str, object]


@dataclass(frozen=True)
class Grid:
    """The cells of an experiment, and the settings of the report that shows them.

    Attributes:
        pairs: each (dataset, model) that is trained.
        seeds: one training of each pair for each seed.
        methods: registered id by the config's id; so are ``metrics`` and ``datasets``.
        left_out: datasets that a method or metric does not apply to, by kind (``methods`` or
            ``metrics``) and id.
        unmeasured: metrics that do not score a method, by the method.
        analyses: the cells of each analysis, by its id.
        title: title of the report.
        models: id of the known model by the config's id; None for a model of the user's own.
        study: preset of the config.
        statistics: settings of the comparison of groups.
        controls: checks of the pipeline itself.
        report: content of the report.
    """

    pairs: Sequence[tuple[str, str]] = ()
    seeds: Sequence[int] = ()
    methods: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    unmeasured: Mapping[str, Sequence[str]] = field(default_factory=dict)
    analyses: Mapping[str, Sequence[tuple[str, ...]]] = field(default_factory=dict)
    title: str = ""
    datasets: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, str | None] = field(default_factory=dict)
    study: str = "default"
    statistics: StudyStatistics = field(default_factory=StudyStatistics.model_construct)
    controls: Controls = field(default_factory=Controls.model_construct)
    report: Report = field(default_factory=Report.model_construct)

    @classmethod
    def from_json(cls, values: Mapping[str, object], where: str) -> Grid:
        """Return the grid that :meth:`as_json` wrote; further keys are left out.

        Raises:
            InputError: a key is missing or holds another kind of value; it begins with ``where``.
        """
        try:
            (written,) = records(_Written, [values])
            return cls(
                pairs=[(str(dataset), str(model)) for dataset, model in written.pairs],
                seeds=[int(seed) for seed in written.seeds],
                methods=dict(written.methods),
                metrics=dict(written.metrics),
                left_out={
                    kind: {name: as_texts(left) for name, left in as_mapping(by_id).items()}
                    for kind, by_id in as_mapping(values.get("left_out", {})).items()
                },
                unmeasured={
                    method: as_texts(metrics)
                    for method, metrics in as_mapping(values.get("unmeasured", {})).items()
                },
                analyses={name: [*map(tuple, cells)] for name, cells in written.analyses.items()},
                title=written.title,
                datasets=dict(written.datasets),
                models=dict(written.models),
                study=written.study,
                statistics=read_settings(StudyStatistics, written.statistics, where),
                controls=read_settings(Controls, written.controls, where),
                report=read_settings(Report, written.report, where),
            )
        except KeyError as error:
            raise InputError(f"{where}: {error.args[0]} is missing; run `snakemake`") from None
        except (AttributeError, TypeError, ValueError) as error:
            raise InputError(f"{where}: not a grid ({error}); run `snakemake`") from None

    def as_json(self) -> dict[str, object]:
        """Return it as JSON values, keys in the order of the alphabet."""
        values: dict[str, object] = {
            "pairs": self.pairs,
            "seeds": self.seeds,
            # Pairs, since the page shows methods and metrics in the order of the config.
            "methods": [*self.methods.items()],
            "metrics": [*self.metrics.items()],
            "analyses": self.analyses,
            "title": self.title,
            "datasets": [*self.datasets.items()],
            "models": [*self.models.items()],
            "study": self.study,
            "statistics": self.statistics.all_values,
            "controls": self.controls.all_values,
            "report": self.report.all_values,
        }
        values |= {"left_out": self.left_out} if self.left_out else {}
        values |= {"unmeasured": self.unmeasured} if self.unmeasured else {}
        as_written: dict[str, object] = json.loads(canonical(values))
        return as_written

    def applying(self, kind: str, dataset: str) -> list[str]:
        """Return the ids of the ``methods`` or ``metrics`` that apply to a dataset."""
        ids = {"methods": self.methods, "metrics": self.metrics}[kind]
        left_out = self.left_out.get(kind, {})
        return [name for name in ids if dataset not in left_out.get(name, ())]


def grid_text(grid: Grid) -> str:
    """Return a grid as the file holds it: JSON with one more key, the digest of all others."""
    values = grid.as_json()
    return canonical({**values, _DIGEST: _digest(values)})


def read_grid(results: Path) -> Grid | None:
    """Read the grid of the last run; None where there was none."""
    path = results / GRID
    try:
        values = json.loads(path.read_bytes())
        digest = values.pop(_DIGEST)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError, AttributeError, LookupError, TypeError):
        digest = None
    if digest is None or digest != _digest(values):
        raise InputError(
            f"{path}: is damaged, or of an earlier version; run `snakemake`, which writes it again"
        )
    return Grid.from_json(values, str(path))


def _digest(values: Mapping[str, object]) -> str:
    return sha256(canonical(values).encode("utf-8", "surrogatepass")).hexdigest()
