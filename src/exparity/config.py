"""The config of an experiment: validated, completed, and resolved cell by cell.

Everything that a rule needs to know of the config is computed here, so that the rules hold no
logic and all of it can be tested without Snakemake.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from exparity.data import DATASETS
from exparity.digest import source_digest
from exparity.errors import InputError, did_you_mean
from exparity.methods import METHODS
from exparity.metrics import METRICS, metric_options
from exparity.models.spec import ModelSpec, TrainingSpec, build
from exparity.parameters import Option, complete
from exparity.registry import Entry, load_plugin

_PACKAGE = Path(__file__).parent
_RESERVED = ("use", "max_examples")
Cell = Mapping[str, str | int]


def load_or_exit(config: Mapping[str, Any], schema: Path) -> Experiment:
    """Make an experiment from Snakemake's config; on a config error, say so and exit with 2."""
    try:
        return Experiment.from_config(config, read_schema(schema))
    except InputError as error:
        print(f"exparity: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None


def read_schema(path: Path) -> dict[str, Any]:
    """Read a JSON schema written in YAML."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    with path.open(encoding="utf-8") as file:
        schema: dict[str, Any] = yaml.load(file, Loader=loader)
    return schema


def canonical(values: Mapping[str, Any]) -> str:
    """Return the one JSON text of a mapping: what Snakemake compares to decide on reruns."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@dataclass(frozen=True)
class Instance:
    """A named use of a registered implementation.

    Attributes:
        id: name in the config.
        entry: the implementation.
        params: its options as set, without defaults.
        max_examples: sample size, or None.
        options: all options it knows.
    """

    id: str
    entry: Entry[Any]
    params: Mapping[str, Any]
    max_examples: int | None
    options: Mapping[str, Option]

    def resolved(self, where: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a job of this instance depends on, with overrides applied.

        Raises:
            InputError: an override sets an unknown option or a bad value.
        """
        merged = {**self.params, **{k: v for k, v in changes.items() if k not in _RESERVED}}
        return {
            "use": self.entry.id,
            "params": complete(self.options, merged, where),
            "max_examples": changes.get("max_examples", self.max_examples),
            "digest": source_digest(self.entry.source),
        }


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
        _validate(plain, schema)
        return cls(_with_defaults(plain, schema))

    # What there is

    @property
    def results(self) -> str:
        """Folder of all results."""
        return str(self.config["results"])

    @property
    def token_budget_flags(self) -> str:
        """Return the command-line flags that set the token budget, if it is set."""
        budget = self.config["engine"]["token_budget"]
        return "" if budget is None else f"--token-budget {budget}"

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
        spec = {k: v for k, v in self.models[model].items() if k not in ("training", "datasets")}
        training = {
            **self.config["training"],
            **self.models[model].get("training", {}),
            **self._changes("training", cell),
        }
        build(TrainingSpec, training, f"models.{model}.training")
        files = [_PACKAGE / "models" / f"{name}.py" for name in ("training", "scratch")]
        digest = source_digest(*files)
        return canonical({"model": spec, "training": training, "digest": digest})

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
                "methods": {i.id: i.entry.id for i in self.methods.values()},
                "metrics": {i.id: i.entry.id for i in self.metrics.values()},
                "datasets": {i.id: i.entry.id for i in self.datasets.values()},
                "statistics": self.config["statistics"],
                "digest": source_digest(
                    *sorted((_PACKAGE / "report").glob("**/*.*")), _PACKAGE / "stages" / "report.py"
                ),
            }
        )

    @cached_property
    def _statistics_digest(self) -> str:
        return source_digest(
            *sorted((_PACKAGE / "stats").glob("*.py")), _PACKAGE / "stages" / "test.py"
        )

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
            if block == "datasets" and "max_examples" in settings:
                raise InputError(f"{where}.max_examples: set it on a method or metric instead")
            entry = registry.get(settings.pop("use", name), where)
            size = settings.pop("max_examples", None)
            options = metric_options(entry) if block == "metrics" else entry.options
            complete(options, settings, where)
            found[name] = Instance(name, entry, settings, size, options)
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

        for model, settings in self.models.items():
            spec = {k: v for k, v in settings.items() if k not in ("training", "datasets")}
            built = build(ModelSpec, spec, f"models.{model}")
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


def _matches(match: Mapping[str, Any], cell: Cell) -> bool:
    return all(
        key in cell and cell[key] in (wanted if isinstance(wanted, list) else [wanted])
        for key, wanted in match.items()
    )


def _require(value: Any, known: list[Any], where: str) -> None:
    if value not in known:
        raise InputError(f"{where}: no '{value}' here; {did_you_mean(str(value), map(str, known))}")


def _validate(config: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Raise the most telling schema violation as one line."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    error = best_match(Draft202012Validator(schema).iter_errors(config))
    if error is None:
        return
    place = ""
    for step in error.absolute_path:
        place += f"[{step}]" if isinstance(step, int) else f".{step}" if place else str(step)
    if error.validator == "additionalProperties" and isinstance(error.instance, Mapping):
        known = error.schema.get("properties", {})
        for key in error.instance:
            if key not in known:
                full = f"{place}.{key}" if place else key
                raise InputError(f"config: unknown key '{full}'; {did_you_mean(key, known)}")
    if "propertyNames" in error.absolute_schema_path:
        message = f"'{error.instance}' is not an id: use lower-case letters, digits and underscores"
    else:
        message = error.message
    raise InputError(f"config: {place}: {message}" if place else f"config: {message}")


def _with_defaults(config: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in the schema's defaults, at the top and inside blocks that have a default themselves.

    Blocks of single models and overrides stay as written: they refine what the top level says.
    """
    filled = dict(config)
    for key, part in schema["properties"].items():
        target = schema["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part
        if key not in filled and "default" in part:
            filled[key] = part["default"]
        if isinstance(filled.get(key), dict) and "default" in part:
            inner = {k: v["default"] for k, v in target["properties"].items() if "default" in v}
            filled[key] = {**inner, **filled[key]}
    return filled
