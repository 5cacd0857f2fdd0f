"""Checks of a config beyond its types: ids that refer to each other, cells, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from exparity.artefacts import layout
from exparity.artefacts.grid import GRID
from exparity.config.instances import Instance
from exparity.config.presets import matches
from exparity.config.resolved import ResolvedConfig
from exparity.core.errors import InputError, require_known, within
from exparity.core.plain import as_int, as_list
from exparity.core.strict import parse_json
from exparity.core.validation import defaults_of
from exparity.counterfactuals import check_groups, label_refusal
from exparity.data.facts import DatasetFacts
from exparity.methods import METHODS
from exparity.metrics import METRICS
from exparity.models.catalogue import known_type
from exparity.models.families import ENCODERS
from exparity.models.functions import MUST_WRITE, refusal, source_of
from exparity.models.heads import HEADS, SEQUENCE, WrittenConfig, new_head
from exparity.models.lora import check_base
from exparity.models.spec import ModelSpec

_OTHER = {"methods": "metric", "metrics": "method"}

# What a block of an override cannot differ by.
_TOO_NARROW = {"training": {"method", "metric"}, "method": {"metric"}}

# Options of datasets that decide on their classes.
_CLASS_OPTIONS = {"labels", "classes", "professions"}


def check(experiment: ResolvedConfig) -> None:
    """Check a config beyond the types of its keys, before any job."""
    check_references(experiment)
    check_prompts(experiment)
    check_functions(experiment)
    check_writers(experiment)
    check_applies(experiment)
    check_overrides(experiment)
    check_counterfactuals(experiment)
    check_foils(experiment)
    check_cells(experiment)
    check_imports(experiment)


def check_references(experiment: ResolvedConfig) -> None:
    """Check that ids in ``models`` and ``overrides`` exist."""
    config_ids: dict[str, list[Any]] = {
        "dataset": list(experiment.datasets),
        "model": list(experiment.models),
        "seed": experiment.seeds,
        "method": list(experiment.methods),
        "metric": list(experiment.metrics),
    }
    if bool(config_ids["method"]) != bool(config_ids["metric"]):
        empty, other = ("methods", "metrics") if config_ids["metric"] else ("metrics", "methods")
        raise InputError(
            f"{empty}: none, but there are {other}; name both, or leave both empty to train and "
            "measure classifiers without explaining them"
        )
    restricted = {
        f"models.{model}": settings.datasets for model, settings in experiment.models.items()
    }
    for block in ("methods", "metrics"):
        instances = getattr(experiment, block).values()
        restricted |= {f"{block}.{instance.id}": instance.datasets for instance in instances}
    for where, datasets in restricted.items():
        for dataset in datasets or ():
            _require(dataset, config_ids["dataset"], f"{where}.datasets")
    for position, override in enumerate(experiment.overrides):
        for key, matched_ids in override["match"].items():
            for value in matched_ids if isinstance(matched_ids, list) else [matched_ids]:
                _require(value, config_ids[key], f"overrides[{position}].match.{key}")


def check_overrides(experiment: ResolvedConfig) -> None:
    """Check that each override is possible and changes some job."""
    for position, override in enumerate(experiment.overrides):
        where = f"overrides[{position}]"
        match = override["match"]
        for block in override.keys() & _TOO_NARROW.keys():
            for key in match.keys() & _TOO_NARROW[block]:
                raise InputError(
                    f"{where}: '{block}' cannot differ by {key}; remove '{key}' from match"
                )
        if not override.keys() - {"match"}:
            raise InputError(f"{where}: changes nothing; add training, method or metric")
        artefact = "scores" if "metric" in match else "predictions"
        if "method" in match and "metric" not in match:
            artefact = "explanations"
        if not any(matches(match, cell) for cell in experiment.cells(artefact)):
            raise InputError(
                f"{where}.match: no job has all of this; some `datasets:` of a model, method or "
                "metric excludes it"
            )


def check_applies(experiment: ResolvedConfig) -> None:
    """Check that each method and metric applies to some dataset."""
    trained = dict.fromkeys(dataset for dataset, _ in experiment.pairs)
    for metric_id, metric in experiment.metrics.items():
        needs = metric.entry.facts.needs
        used_on = [dataset for dataset in trained if metric.is_used_on(dataset)]
        if used_on and all(needs in experiment.lacks[dataset] for dataset in used_on):
            lack = experiment.lacks[used_on[0]][needs]
            raise InputError(
                f"metrics.{metric_id}: does not apply to '{used_on[0]}': {lack}; leave the metric "
                "out"
            )
    for kind, other in _OTHER.items():
        for instance_id, instance in getattr(experiment, kind).items():
            if not any(instance_id in experiment.applying(kind, dataset) for dataset in trained):
                datasets = ", ".join(instance.datasets or trained)
                raise InputError(
                    f"{kind}.{instance_id}: on its datasets ({datasets}) no {other} is used and no "
                    f"model trained; name others in {kind}.{instance_id}.datasets, or leave it out"
                )


def check_foils(experiment: ResolvedConfig) -> None:
    """Check that the data have the class to explain against, if their classes are known."""
    for method_id, method in experiment.methods.items():
        explains = method.params.get("explains")
        if not isinstance(explains, dict):
            continue
        for dataset in method.datasets or experiment.datasets:
            instance = experiment.datasets[dataset]
            labels = instance.entry.facts.labels
            if labels and "labels" not in instance.params:
                where = f"methods.{method_id}.explains.against, of the classes of '{dataset}'"
                _require(explains["against"], list(labels), where)


def check_prompts(experiment: ResolvedConfig) -> None:
    """Check that prompted models have prompts, with a template for each seed."""
    prompts = experiment.config.prompts
    prompted = {
        model
        for model, settings in experiment.models.items()
        if HEADS.get(settings.spec.head).facts.prompted
    }
    for dataset in prompts:
        _require(dataset, list(experiment.datasets), f"prompts.{dataset}")
    for dataset, model in experiment.pairs:
        if model not in prompted:
            continue
        if dataset not in prompts:
            raise _lacking(model, ": takes", dataset, "prompts", f"write prompts.{dataset}")
        templates = prompts[dataset].templates
        training = experiment.models[model].training
        for number in (*experiment.seeds, *map(as_int, as_list(training.get("templates") or ()))):
            if number >= len(templates):
                raise InputError(
                    f"prompts.{dataset}: seed k takes template k, and there is no template "
                    f"{number}, only 0 to {len(templates) - 1}; write more, or take fewer seeds"
                )
        class_labels = experiment.datasets[dataset].entry.facts.labels
        words = prompts[dataset].words
        if class_labels and not _CLASS_OPTIONS & experiment.datasets[dataset].params.keys():
            for name in {*class_labels} ^ {*words}:
                raise InputError(
                    f"prompts.{dataset}.words: must name {', '.join(class_labels)}, and "
                    f"{'has' if name in words else 'lacks'} {name}"
                )
    for model, settings in experiment.models.items():
        if settings.spec.chat and model not in prompted:
            raise InputError(f"models.{model}.chat: only prompted models chat; set its head, too")


def check_functions(experiment: ResolvedConfig) -> None:
    """Check that functions are not trained, and that methods and metrics need no gradients."""
    functions = {
        model: settings.spec
        for model, settings in experiment.models.items()
        if settings.spec.predict is not None
    }
    for model, spec in functions.items():
        with within(f"models.{model}."):
            source_of(str(spec.predict))
        if experiment.models[model].training or experiment.models[model].interventions:
            raise InputError(
                f"models.{model}: a function is not trained; leave training and debias out"
            )
        classes = list(spec.classes)
        for dataset, trained in experiment.pairs:
            if trained != model:
                continue
            data_classes = _known_classes(experiment.datasets[dataset])
            if data_classes and list(data_classes) != classes:
                raise InputError(
                    f"models.{model}.classes: are {', '.join(classes)}, and those of dataset "
                    f"'{dataset}' {', '.join(data_classes)}; name them in the order of both"
                )
    datasets = dict.fromkeys(dataset for dataset, model in experiment.pairs if model in functions)
    for block, registry in (("methods", METHODS), ("metrics", METRICS)):
        for instance_id, instance in getattr(experiment, block).items():
            used_on = [d for d in datasets if instance_id in experiment.applying(block, d)]
            if used_on and not instance.entry.facts.asks_only:
                remedy = f"or keep it from dataset '{used_on[0]}' by {block}.{instance_id}.datasets"
                raise InputError(
                    f"{block}.{instance_id}: {refusal(instance.entry, registry)}, {remedy}"
                )


def check_writers(experiment: ResolvedConfig) -> None:
    """Check that methods whose explanations the model writes have models that can write."""
    for method_id, method in experiment.methods.items():
        if not method.entry.facts.writes:
            continue
        for dataset, model in experiment.pairs:
            spec = experiment.models[model].spec
            is_prompted = spec.predict is None and HEADS.get(spec.head).facts.prompted
            if method_id in experiment.applying("methods", dataset) and not is_prompted:
                raise InputError(
                    f"methods.{method_id}: {MUST_WRITE}, and models.{model} is none; leave the "
                    f"method out, or keep it from dataset '{dataset}' by "
                    f"methods.{method_id}.datasets"
                )


def _known_classes(instance: Instance[DatasetFacts]) -> tuple[str, ...]:
    """Return the classes of a dataset; none if only the data hold them."""
    if named := _CLASS_OPTIONS & instance.params.keys():
        return tuple(map(str, as_list(instance.params[named.pop()] or ())))
    return tuple(instance.entry.facts.labels or ())


def check_counterfactuals(experiment: ResolvedConfig) -> None:
    """Check that generators fit their datasets, and that interventions have those they need."""
    for dataset, generator in experiment.generators.items():
        where = f"counterfactuals.{dataset}"
        _require(dataset, list(experiment.datasets), where)
        instance = experiment.datasets[dataset]
        facts = instance.entry.facts
        if "groups" in experiment.lacks[dataset]:
            raise InputError(f"{where}: dataset '{dataset}' has no groups to change; remove it")
        if groups := instance.known_groups:  # others are known once the data are read
            check_groups(generator.entry.id, generator.params, groups, where)
        if facts.group_decides_label:
            raise InputError(label_refusal(dataset, f"as the facts of '{instance.entry.id}' say"))
    for dataset, model in experiment.pairs:
        for intervention in experiment.models[model].interventions:
            needs = f".debias: '{intervention.id}' needs"
            if "groups" in experiment.lacks[dataset]:
                raise _lacking(model, needs, dataset, "groups")
            needs_generator = intervention.entry.facts.needs_counterfactuals
            if needs_generator and dataset not in experiment.generators:
                remedy = f"name a generator of them, counterfactuals.{dataset}"
                raise _lacking(model, needs, dataset, "counterfactuals", remedy)


def check_cells(experiment: ResolvedConfig) -> None:
    """Resolve every distinct cell once, so that bad settings are found before any job."""
    from exparity.models.folders import check_checkpoint

    for dataset, instance in experiment.datasets.items():
        experiment.own_inputs("prepare", {"dataset": dataset})
        if check := instance.entry.facts.check_options:
            with within(f"datasets.{dataset}: "):
                check({**defaults_of(instance.entry.options), **instance.params})
    for model, settings in experiment.models.items():
        spec = settings.spec
        with within(f"models.{model}: "):
            if spec.checkpoint is not None:
                check_checkpoint(spec.checkpoint)
                if spec.adapter is not None:
                    check_base(Path(spec.adapter), spec.checkpoint)
    for dataset, model in experiment.pairs:
        for seed in experiment.seeds:
            experiment.finetune_options(dataset, model, seed)
            training = experiment.training(dataset, model, seed)
            if training.shortcuts and training.epochs:
                _check_shortcuts(model, experiment.models[model].spec)
            if not training.epochs:
                if experiment.models[model].spec.init == "scratch":
                    raise InputError(
                        f"models.{model}: init: scratch starts from random weights, which epochs: "
                        "0 would leave as they are; train it, or name a checkpoint"
                    )
                _check_as_it_is(experiment, dataset, model)
    if any("method" in override or "metric" in override for override in experiment.overrides):
        for cell in experiment.cells("scores"):
            experiment.evaluate_options(**cell)
            experiment.explain_options(**cell.without("metric"))


def _check_shortcuts(model: str, spec: ModelSpec) -> None:
    """Check that a model whose training takes shortcuts is of a family that these know."""
    if spec.head != SEQUENCE or known_type(spec) not in (None, *ENCODERS):
        raise InputError(
            f"models.{model}.training: shortcuts are for classification heads on "
            f"{' and '.join(ENCODERS)}; set shortcuts: false for it"
        )


def _check_as_it_is(experiment: ResolvedConfig, dataset: str, model: str) -> None:
    """Check that a checkpoint, used as it is, classifies into the classes of the data."""
    spec = experiment.models[model].spec
    path = Path(spec.checkpoint or "", "config.json")
    has_config = spec.checkpoint is not None and spec.adapter is None and spec.head == SEQUENCE
    if not has_config or not path.is_file():
        return
    written = parse_json(path.read_text(encoding="utf-8-sig"), str(path))
    unnamed = {i: f"LABEL_{i}" for i in range(written.get("num_labels") or 2)}
    names = written.get("id2label") or unnamed
    config = WrittenConfig(
        architectures=written.get("architectures"),
        num_labels=len(names),
        id2label={int(i): name for i, name in names.items()},
        problem_type=written.get("problem_type"),
    )
    head = new_head(spec.head, spec.label)
    with within(f"models.{model}: "):
        classes = _known_classes(experiment.datasets[dataset])
        head.require(str(spec.checkpoint), config, classes or None)


def check_imports(experiment: ResolvedConfig) -> None:
    """Check methods that read their scores from files."""
    owners: dict[str, str] = {}
    reads_files = any(method.entry.facts.path_options for method in experiment.methods.values())
    for cell in (
        experiment.cells("explanations") if reads_files else ()
    ):  # a large grid has thousands
        method = cell.method
        classifier = "/".join(str(cell[name]) for name in ("dataset", "model", "seed"))
        for path in experiment.own_inputs("explain", cell):
            owner = owners.setdefault(path, classifier)
            if owner != classifier and not experiment.methods[method].entry.facts.repeatable:
                raise InputError(
                    f"methods.{method}: {path} is named for the classifiers {owner} and "
                    f"{classifier}, and explains one; write {{dataset}}, {{model}} or {{seed}} "
                    "into the file's name"
                )
    if experiment.unmeasured.keys() == experiment.methods.keys() != set():
        metric = next(iter(experiment.unmeasured.values()))[0]
        raise InputError(f"metrics.{metric}: explains texts again, and no method here can")


def _lacking(
    model: str, needs: str, dataset: str, what: str, remedy: str | None = None
) -> InputError:
    """Return the error of a model whose dataset has nothing of what it needs."""
    remedies = [*filter(None, [remedy]), f"leave the dataset out of models.{model}.datasets"]
    return InputError(
        f"models.{model}{needs} {what}, and dataset '{dataset}' has none; {', or '.join(remedies)}"
    )


def _require(value: Any, choices: list[Any], where: str) -> None:
    require_known(value, choices, f"{where}: no '{value}' here")


def check_results(experiment: ResolvedConfig) -> None:
    """Check that the results folder does not hold the report of an experiment on other data."""
    results = Path(experiment.results)
    if results.is_file():
        raise InputError(f"results: {results} is a file; name a folder")
    # A run writes its grid first, and a report its page last; only a report replaces folders.
    is_ours = any((results / path).is_file() for path in (GRID, layout.REPORT["page"]))
    for name in () if is_ours else ("tables", "figures"):
        folder = results / layout.path_of(name, {})
        if folder.is_dir() and any(folder.iterdir()):
            raise InputError(
                f"results: {folder} holds files of no report, and the new one would replace the "
                "folder; set results to another folder, or move these"
            )
    if not (results / layout.path_of("page", {})).is_file():
        return
    datasets = [dataset for (dataset,), _ in layout.files(results, "data")]
    if datasets and not {*datasets} & experiment.datasets.keys():
        raise InputError(
            f"results: {results} holds the report of an experiment on {', '.join(datasets)}; "
            f"running {', '.join(experiment.datasets)} here would overwrite it; set results to "
            "another folder"
        )
