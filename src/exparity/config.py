"""The config of an experiment: validated, completed, and resolved cell by cell.

Everything that a rule needs to know of the config is computed here, so that the rules hold no
logic and all of it can be tested without Snakemake.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

from exparity.data import DATASETS
from exparity.digest import source_digest
from exparity.errors import InputError, did_you_mean
from exparity.instances import Instance, canonical
from exparity.methods import METHODS
from exparity.metrics import METRICS, metric_options
from exparity.models.spec import ModelSpec, TrainingSpec, build
from exparity.parameters import complete
from exparity.registry import load_plugin
from exparity.schema import read_schema, validate, with_defaults

_PACKAGE = Path(__file__).parent
Cell = Mapping[str, str | int]


def load_or_exit(config: Mapping[str, Any], schema: Path) -> Experiment:
    """Make an experiment from Snakemake's config; on a config error, say so and exit with 2."""
    try:
        return Experiment.from_config(config, read_schema(schema))
    except InputError as error:
        print(f"exparity: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None


class Experiment:
    """A validated config.

    Args:
        config: the config with all defaults filled in.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = config
        for plugin in config["plugins"]:
            load_plugin(plugin)
        self.datasets = self._instances("datasets")
        self.methods = self._instances("methods")
        self.metrics = self._instances("metrics")
        self.models: dict[str, dict[str, Any]] = dict(config["models"])
        self.seeds: list[int] = list(config["seeds"])
        self.overrides: list[Mapping[str, Any]] = list(config["overrides"])
        self._memo: dict[tuple[Any, ...], str] = {}
        self._check_references()
        self._check_cells()

    @classmethod
    def from_config(cls, config: Mapping[str, Any], schema: Mapping[str, Any]) -> Experiment:
        """Validate a config against the schema and the registries.

        Raises:
            InputError: names the key and the remedy.
        """
        plain = json.loads(json.dumps(config))
        validate(plain, schema)
        return cls(with_defaults(plain, schema))

    # What there is

    @property
    def results(self) -> str:
        """Folder of all results."""
        return str(self.config["results"])

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment variables of jobs.

        They hold defaults of the command line that say how a job uses the machine and where raw
        files lie. The path is extended so that jobs find the exparity of the Python that runs
        Snakemake, also where its environment is not activated.
        """
        engine = self.config["engine"]
        return {
            "PATH": os.pathsep.join([os.environ.get("PATH", ""), str(Path(sys.executable).parent)]),
            "EXPARITY_DATA_DIR": str(self.config["data_dir"]),
            "EXPARITY_DOWNLOAD": "1" if self.config["download"] else "0",
            "EXPARITY_PLUGINS": os.pathsep.join(self.config["plugins"]),
            "EXPARITY_DEVICE": str(engine["device"]),
            "EXPARITY_TOKEN_BUDGET": str(engine["token_budget"] or ""),
            "EXPARITY_SHORTCUTS": "1" if engine["shortcuts"] else "",
        }

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """Every (dataset, model) that is trained."""
        return [
            (dataset, model)
            for dataset in self.datasets
            for model, settings in self.models.items()
            if dataset in settings.get("datasets", self.datasets)
        ]

    def cells(self) -> Iterator[dict[str, str | int]]:
        """Yield the ids of every test of the grid."""
        for dataset, model in self.pairs:
            for seed in self.seeds:
                for method in self.methods:
                    for metric in self.metrics:
                        yield {
                            "dataset": dataset,
                            "model": model,
                            "seed": seed,
                            "method": method,
                            "metric": metric,
                        }

    def runs_model(self, metric: str) -> bool:
        """Return whether a metric runs the model, and so needs its checkpoint and a GPU."""
        return bool(self.metrics[metric].entry.facts.needs != "attributions")

    # How a job is split, which changes no result

    def explain_shards(self, dataset: str, model: str, seed: int, method: str) -> int:
        """Return how many jobs share the explanations of a cell."""
        cell: Cell = {"dataset": dataset, "model": model, "seed": seed, "method": method}
        return int(self._changes("method", cell).get("shards", self.methods[method].shards))

    def evaluate_shards(self, dataset: str, model: str, seed: int, method: str, metric: str) -> int:
        """Return how many jobs share the scores of a cell."""
        cell: Cell = {
            "dataset": dataset, "model": model, "seed": seed, "method": method, "metric": metric
        }  # fmt: skip
        return int(self._changes("metric", cell).get("shards", self.metrics[metric].shards))

    # What a job depends on, as canonical JSON

    def prepare_options(self, dataset: str) -> str:
        """Return what the data artefact depends on."""
        instance = self.datasets[dataset]
        resolved = instance.resolved(f"datasets.{dataset}", {})
        del resolved["max_examples"]
        return canonical(resolved)

    def finetune_options(self, dataset: str, model: str, seed: int) -> str:
        """Return what a checkpoint depends on."""
        cell: Cell = {"dataset": dataset, "model": model, "seed": seed}
        spec = self._model_spec(model)
        training = {
            **self.config["training"],
            **self.models[model].get("training", {}),
            **self._changes("training", cell),
        }
        settled = build(TrainingSpec, training, f"models.{model}.training")
        names = ("training", "scratch", "checkpoints")
        digest = source_digest(*(_PACKAGE / "models" / f"{name}.py" for name in names))
        return canonical({"model": asdict(spec), "training": asdict(settled), "digest": digest})

    def _model_spec(self, model: str) -> ModelSpec:
        own = {k: v for k, v in self.models[model].items() if k not in ("training", "datasets")}
        return build(ModelSpec, own, f"models.{model}")

    def explain_options(self, dataset: str, model: str, seed: int, method: str) -> str:
        """Return what explanations depend on."""
        cell: Cell = {"dataset": dataset, "model": model, "seed": seed, "method": method}
        changes = self._changes("method", cell)
        shared = {key: self.config[key] for key in ("target", "examples", "precision")}
        return self._cached(self.methods[method], f"methods.{method}", changes, shared)

    def evaluate_options(
        self, dataset: str, model: str, seed: int, method: str, metric: str
    ) -> str:
        """Return what scores depend on."""
        cell: Cell = {
            "dataset": dataset, "model": model, "seed": seed, "method": method, "metric": metric
        }  # fmt: skip
        changes = self._changes("metric", cell)
        shared = {"precision": self.config["precision"]} if self.runs_model(metric) else {}
        return self._cached(self.metrics[metric], f"metrics.{metric}", changes, shared)

    def test_options(self, dataset: str, model: str, seed: int, method: str, metric: str) -> str:
        """Return what a test depends on."""
        cell: Cell = {
            "dataset": dataset, "model": model, "seed": seed, "method": method, "metric": metric
        }  # fmt: skip
        statistics = {**self.config["statistics"], **self._changes("statistics", cell)}
        return canonical({"statistics": statistics, "digest": self._statistics_digest})

    def report_options(self) -> str:
        """Return what the report depends on, beside its inputs."""
        return canonical(
            {
                "title": self.config["title"],
                "pairs": self.pairs,
                "seeds": self.seeds,
                "methods": [[i.id, i.entry.id] for i in self.methods.values()],
                "metrics": [[i.id, i.entry.id] for i in self.metrics.values()],
                "datasets": [[i.id, i.entry.id] for i in self.datasets.values()],
                "statistics": self.config["statistics"],
                "digest": source_digest(*_sources("report"), _PACKAGE / "stages" / "report.py"),
            }
        )

    @cached_property
    def _statistics_digest(self) -> str:
        return source_digest(*_sources("stats"), _PACKAGE / "stages" / "test.py")

    def _cached(
        self, instance: Instance, where: str, changes: Mapping[str, Any], shared: Mapping[str, Any]
    ) -> str:
        """Resolve an instance once per set of overrides: a grid asks thousands of times."""
        key = (where, canonical(changes))
        if key not in self._memo:
            self._memo[key] = canonical({**instance.resolved(where, changes), **shared})
        return self._memo[key]

    def _changes(self, block: str, cell: Cell) -> dict[str, Any]:
        """Merge the overrides of one block that match a cell."""
        merged: dict[str, Any] = {}
        for override in self.overrides:
            if block in override and _matches(override["match"], cell):
                merged.update(override[block])
        return merged

    # Checks

    def _instances(self, block: str) -> dict[str, Instance]:
        registry: Any = {"datasets": DATASETS, "methods": METHODS, "metrics": METRICS}[block]
        found = {}
        for name, raw in self.config[block].items():
            settings = dict(raw or {})
            where = f"{block}.{name}"
            for key in ("max_examples", "shards"):
                if block == "datasets" and key in settings:
                    raise InputError(f"{where}.{key}: set it on a method or metric instead")
            entry = registry.get(settings.pop("use", name), where)
            size = settings.pop("max_examples", None)
            shards = settings.pop("shards", 1)
            options = metric_options(entry) if block == "metrics" else entry.options
            complete(options, settings, where)
            shared = (_PACKAGE / "metrics" / "_arrays.py",) if block == "metrics" else ()
            found[name] = Instance(name, entry, settings, size, options, shared, shards)
        return found

    def _check_references(self) -> None:
        known: dict[str, list[Any]] = {
            "dataset": list(self.datasets),
            "model": list(self.models),
            "seed": self.seeds,
            "method": list(self.methods),
            "metric": list(self.metrics),
        }
        for model, settings in self.models.items():
            for dataset in settings.get("datasets", []):
                _require(dataset, known["dataset"], f"models.{model}.datasets")
        for position, override in enumerate(self.overrides):
            for key, wanted in override["match"].items():
                for value in wanted if isinstance(wanted, list) else [wanted]:
                    _require(value, known[key], f"overrides[{position}].match.{key}")
            narrow = {"training": ("method", "metric"), "method": ("metric",)}
            for block, too_narrow in narrow.items():
                for key in too_narrow:
                    if block in override and key in override["match"]:
                        raise InputError(
                            f"overrides[{position}]: '{block}' cannot differ by {key}; remove "
                            f"'{key}' from match"
                        )

    def _check_cells(self) -> None:
        """Resolve every distinct cell once, so that a bad override is found before any job."""
        from exparity.models.checkpoints import check_checkpoint

        for model in self.models:
            built = self._model_spec(model)
            if built.checkpoint is not None:
                try:
                    check_checkpoint(built.checkpoint)
                except InputError as error:
                    raise InputError(f"models.{model}: {error}") from None
        for dataset, model in self.pairs:
            for seed in self.seeds:
                self.finetune_options(dataset, model, seed)
        if self.overrides:
            for cell in self.cells():
                key: dict[str, Any] = dict(cell)
                self.evaluate_options(**key)
                del key["metric"]
                self.explain_options(**key)


def _sources(package: str) -> list[Path]:
    """Return the source files of a subpackage: modules and templates, nothing compiled."""
    files = (_PACKAGE / package).glob("**/*")
    return sorted(path for path in files if path.suffix in (".py", ".j2"))


def _matches(match: Mapping[str, Any], cell: Cell) -> bool:
    return all(
        key in cell and cell[key] in (wanted if isinstance(wanted, list) else [wanted])
        for key, wanted in match.items()
    )


def _require(value: Any, known: list[Any], where: str) -> None:
    if value not in known:
        raise InputError(f"{where}: no '{value}' here; {did_you_mean(str(value), map(str, known))}")
