"""Entries of a config: named uses of implementations, and the datasets that each applies to.

What does not apply to a dataset leaves it out, and the plan and the workflow say so. What applies
to no dataset at all is an error.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from exparity.artefacts.analyses import Call
from exparity.artefacts.lineage import sha256_of
from exparity.config.models import Config, InstanceEntry
from exparity.core.digest import source_digest
from exparity.core.errors import InputError
from exparity.core.plain import as_text
from exparity.core.registry import Entry, Registry
from exparity.core.validation import Settings, complete
from exparity.data import DATASETS
from exparity.data.facts import DatasetFacts
from exparity.methods.facts import MethodFacts
from exparity.metrics import SHARED_SOURCES
from exparity.metrics.facts import MetricFacts
from exparity.types import Facts

KindFacts = TypeVar("KindFacts", bound=Facts)
_GROUP_OPTIONS = {"attribute", "groups"}
"""Options of datasets that decide on their groups."""


@dataclass(frozen=True)
class Instance(Generic[KindFacts]):
    """A named use of a registered implementation."""

    id: str
    entry: Entry[KindFacts]
    params: Mapping[str, object]  # as set, without defaults
    max_examples: int | None
    options: type[Settings]  # all that it knows
    shared: tuple[Path, ...] = ()  # sources that all implementations of its kind run through
    datasets: Sequence[str] | None = None  # those that it is used on; all if None

    @property
    def known_groups(self: Instance[DatasetFacts]) -> tuple[str, ...]:
        """A dataset's groups as its facts declare them; empty if its options or rows decide."""
        return () if _GROUP_OPTIONS & self.params.keys() else self.entry.facts.groups

    def is_used_on(self, dataset: str) -> bool:
        """Return whether the config has it used on a dataset."""
        return self.datasets is None or dataset in self.datasets

    def call(
        self, where: str, changes: Mapping[str, object] = {}, without: str | None = None
    ) -> Call:
        """Return its options, all but one, and its code, as a job that calls it depends on them."""
        params = complete(self.options, {**self.params, **changes}, where)
        return {
            "use": self.entry.id,
            "params": {name: value for name, value in params.items() if name != without},
            "digest": source_digest(self.entry.source, *self.shared),
        }

    def paths_in(
        self, cell: Mapping[str, str | int], changes: Mapping[str, object]
    ) -> dict[str, str]:
        """Return its options that name files, as a cell has them."""
        named = {}
        for option in getattr(self.entry.facts, "path_options", ()):
            pattern = changes.get(option, self.params.get(option, ""))
            try:
                named[option] = str(pattern).format(**cell)
            except (LookupError, ValueError, AttributeError):
                raise InputError(
                    f"{self.id}.{option}: {pattern}: of names in braces a file may have "
                    f"{', '.join(f'{{{name}}}' for name in cell)}"
                ) from None
        return named

    def call_with_files(self, where: str) -> Call:
        """Return its options, its code and the content of its files."""
        files = {str(path): sha256_of(path) for path in self.entry.input_files(self.params, where)}
        call = self.call(where)
        if files:
            call["files"] = files
        return call


def instances_of(
    block: str, registry: Registry[KindFacts], config: Config
) -> dict[str, Instance[KindFacts]]:
    """Return the instances of a block, of implementations in a registry."""
    instances = {}
    for instance_id, settings_or_none in getattr(config, block).items():
        own_settings = settings_or_none or InstanceEntry()
        where = f"{block}.{instance_id}"
        for key in ("max_examples", "datasets"):
            if block == "datasets" and key in own_settings.model_fields_set:
                raise InputError(f"{where}.{key}: set it on a method or metric instead")
        settings = dict(own_settings.model_extra or {})
        use = own_settings.use or instance_id
        if block == "datasets" and "path" in settings and use not in DATASETS.ids():
            remedy = "for a table of your own, write use: table"
            raise InputError(f"{where}: unknown dataset '{use}'; {remedy}")
        entry = registry.get(use, where)
        options = registry.options(entry)
        if "explains" in options.model_fields:
            settings.setdefault("explains", config.explains)
        complete(options, settings, where)
        shared = SHARED_SOURCES if block == "metrics" else ()
        instances[instance_id] = Instance(
            instance_id,
            entry,
            settings,
            own_settings.max_examples,
            options,
            shared,
            own_settings.datasets,
        )
    return instances


def named_instance(
    registry: Registry[KindFacts], written: str | Mapping[str, object], where: str
) -> Instance[KindFacts]:
    """Return the instance of an entry that is a registered id, or ``use`` and its options."""
    settings = {"use": written} if isinstance(written, str) else dict(written)
    entry = registry.get(as_text(settings.pop("use")), where)
    complete(entry.options, settings, where)
    entry.input_files(settings, where)
    shared = sys.modules[registry.package].__file__ or ""
    return Instance(entry.id, entry, settings, None, entry.options, (Path(shared),))


def lacks_of(instance: Instance[DatasetFacts], *, has_generator: bool) -> dict[str, str]:
    """Return in words what a dataset lacks: groups, rationales, raters or counterfactuals."""
    facts = instance.entry.facts
    lacks = {}
    if not facts.has_groups(instance.params):
        lacks["groups"] = "it has no groups"
    if not facts.marks_words(instance.params):
        option = facts.rationale_option
        remedy = f" (datasets.{instance.id}.{option} names their column)" if option else ""
        lacks["rationale"] = f"it marks no words that carry the label{remedy}"
    if not facts.has_raters(instance.params):
        option = facts.rater_option
        remedy = f" (datasets.{instance.id}.{option} names their table)" if option else ""
        lacks |= {"raters": f"it has no rationales of several people{remedy}"}
    if not has_generator:
        remedy = f"(counterfactuals.{instance.id} names one)"
        lacks["counterfactual"] = f"it has no generator of counterfactuals {remedy}"
    return lacks


def left_out(
    datasets: Iterable[str],
    methods: Mapping[str, Instance[MethodFacts]],
    metrics: Mapping[str, Instance[MetricFacts]],
    lacks: Mapping[str, Mapping[str, str]],
) -> dict[str, dict[str, list[str]]]:
    """Return the datasets that each method, metric and artefact leaves out, by kind and id."""
    # A dataset that all metrics leave out is not explained, and one that all methods do not scored.
    excluded: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for dataset in datasets:
        fits = {
            "methods": {name for name, method in methods.items() if method.is_used_on(dataset)},
            "metrics": {
                name
                for name, metric in metrics.items()
                if metric.is_used_on(dataset) and metric.entry.facts.needs not in lacks[dataset]
            },
        }
        for kind, ids in (("methods", methods), ("metrics", metrics)):
            for name in ids:
                if not all(fits.values()) or name not in fits[kind]:
                    excluded[kind][name].append(dataset)
    return {kind: dict(omitted) for kind, omitted in excluded.items()}
