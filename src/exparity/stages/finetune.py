"""Stage finetune: data artefact to checkpoint, history and predictions."""

from __future__ import annotations

import copy
import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import numpy as np

from exparity.artefacts.files import current_run, open_to_colleagues, write_artefact
from exparity.artefacts.layout import PATHS
from exparity.artefacts.lineage import MANIFEST, fingerprint, sha256_of
from exparity.core.device import Machine, give_back_memory, make_repeatable, resolve_device
from exparity.core.errors import InputError
from exparity.core.flags import Digest, Flag, Id, Output, Seed
from exparity.core.plain import as_mapping
from exparity.core.validation import read_settings
from exparity.data.table import PreparedData, read_prepared, sample
from exparity.data.training_set import TrainingSet
from exparity.explanations.units import pieces_by_group
from exparity.jobs.locks import job_lock
from exparity.models.functions import source_of, write_function
from exparity.models.heads import HEADS, SEQUENCE, head_of
from exparity.models.heads.label_words import LabelWords
from exparity.models.manifest import DamageError, read_verified, saving, sync, write_manifest
from exparity.models.placement import Placement, save_weights
from exparity.models.prompts import CONTENT_FREE, PromptSpec, encode_prompt
from exparity.models.snapshots import StateFolder
from exparity.models.spec import ModelSpec, TrainingSpec, recorded
from exparity.quantities.inputs import key_of
from exparity.stages.training_process import TrainingJob, train_together, training_set_of
from exparity.types import Text

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from exparity.engine.classifier import Classifier
    from exparity.models.training import Trained

log = logging.getLogger(__name__)
LABEL_MASS_LOW = "label_mass_low"
"""Flag of a model that hardly answers in the words of the classes: see ``LEAST_LABEL_MASS``."""
LEAST_LABEL_MASS = 0.1
"""Mean probability of the words of all classes from which a model answers in them."""
_OF_PRIOR = 256
"""Training texts that calibration takes."""


def finetune_cell(
    data: Path,
    output: Output,
    predictions: Output,
    *,
    model: Mapping[str, object],
    training: Mapping[str, object],
    model_id: Id | None = None,
    seed: Seed = 0,
    debias: Annotated[Sequence[Mapping[str, object]], Flag(hidden=True)] = (),
    counterfactuals: Annotated[Mapping[str, object], Flag(hidden=True)] = MappingProxyType({}),
    prompt: Annotated[Mapping[str, object], Flag(hidden=True)] = MappingProxyType({}),
    templates: Annotated[Sequence[str], Flag(hidden=True)] = (),
    digest: Digest = "",
    machine: Machine = Machine(),
) -> None:
    """Fine-tune a classifier, save it, and predict the test split.

    An unfinished training is kept in ``<output>.state``; the next call with the same data,
    parameters and code continues it.

    Args:
        data: the data artefact.
        output: folder of the checkpoint to write.
        predictions: the predictions artefact to write.
        model: key of an entry of the config's models, such as init=scratch.
        training: key of the config's training, such as epochs=8.
        model_id: name of the model; by the folder of ``output`` if None.
        seed: seed of initialisation, order and dropout.
        debias: interventions in what is trained on, in order: ``use`` and ``params`` of each.
        counterfactuals: ``use`` and ``params`` of the generator that interventions may ask.
        prompt: how a prompted model is asked, see :class:`~exparity.models.prompts.PromptSpec`.
        templates: templates that a prompted model is trained with, its own if empty.
        digest: digest of the code that trains.
        machine: where the model is run.

    Raises:
        InputError: bad data, model or training, or the folder holds anything else.
    """
    model_id = model_id or output.parent.name
    specs = _specs(model, training, model_id)
    make_repeatable(machine.threads)
    prepared = read_prepared(data)
    interventions = _interventions(debias, counterfactuals)
    _check_classes(specs, prepared, model_id, is_prompted=bool(prompt))
    prompt_spec = _prompt_spec(prompt, prepared, model_id) if prompt else None
    parameters = _parameters(specs, interventions, prompt_spec, templates)
    # The workflow passes digests of code and files with each intervention.
    code = [digest, *debias, {**counterfactuals}]
    code += [sha256_of(source_of(specs[0].predict))] if specs[0].predict else []
    key = fingerprint(sha256_of(data), parameters, seed, code)
    ids: dict[str, str | int] = {"dataset": prepared.dataset, "model": model_id, "seed": seed}
    snapshots = StateFolder(output.with_name(f"{output.name}.state"), key)
    placement = Placement.read(machine.device_map, machine.max_memory)
    job = TrainingJob.of(data, specs, seed, interventions, prompt_spec, templates, snapshots)
    with job_lock(output.with_name(f".{output.name}.lock")):
        if predictions.is_file() and _is_made_by(key, output):
            log.info("%s: is finished already", output)
            return
        _check_replaceable(output)
        training_set = training_set_of(prepared, specs[1].validation_share, seed, interventions)
        trained = _trained(training_set, specs, prompt_spec, job, snapshots, placement, machine)
        temporary = output.with_name(f".{output.name}.tmp")
        _save(trained, temporary, output, specs)
        write = partial(write_artefact, ids=ids, parameters=parameters)
        _write_history(trained, training_set, temporary, write, snapshots, machine)
        trained = None  # the classifier that predicts is loaded as every other job does
        give_back_memory()
        predict(temporary, prepared, predictions, write, machine)
        _put_in_place(temporary, output, {**ids, "fingerprint": key})
        snapshots.clear()


def _specs(
    model: Mapping[str, object], training: Mapping[str, object], model_id: str
) -> tuple[ModelSpec, TrainingSpec]:
    """Return a model and its training, checked."""
    spec = read_settings(ModelSpec, model, f"model {model_id}")
    return spec, read_settings(TrainingSpec, training, "training")


def _parameters(
    specs: tuple[ModelSpec, TrainingSpec],
    interventions: Mapping[str, object],
    prompt: PromptSpec | None,
    templates: Sequence[str],
) -> dict[str, object]:
    """Return what artefacts of a training record of how it was made."""
    prompted = {"prompt": prompt.all_values, "templates": list(templates)} if prompt else {}
    return {**recorded(*specs), **interventions, **prompted}


def _trained(
    training_set: TrainingSet,
    specs: tuple[ModelSpec, TrainingSpec],
    prompt: PromptSpec | None,
    job: TrainingJob,
    snapshots: StateFolder,
    placement: Placement | None,
    machine: Machine,
) -> Trained | None:
    """Train a classifier, in as many processes as the training says; None of a function."""
    from exparity.models.training import finetune

    model, training = specs
    if model.predict:
        return None
    together = partial(train_together, job, machine.device, machine.threads)
    return finetune(
        training_set,
        model,
        training,
        state=snapshots,
        device=machine.device,
        prompt=prompt,
        templates=job.templates,
        check=_check_untrained,
        placement=placement,
        train_together=together if training.processes > 1 else None,
    )


def _is_made_by(key: str, checkpoint: Path) -> bool:
    """Return whether a checkpoint is whole and of these inputs; a damaged one is made again."""
    if not (checkpoint / MANIFEST).is_file():
        return False
    try:
        return bool(read_verified(checkpoint / MANIFEST).get("fingerprint") == key)
    except DamageError as error:
        log.warning("%s: %s; made again", checkpoint, error)
        return False


def _write_history(
    trained: Trained | None,
    training_set: TrainingSet,
    folder: Path,
    write: Callable[..., None],
    snapshots: StateFolder,
    machine: Machine,
) -> None:
    """Write the epochs of a training, and what it was trained on, into its folder."""
    epochs = [asdict(epoch) for epoch in (trained.history if trained else ())]
    spent = {
        "work_seconds": round(sum(epoch["seconds"] for epoch in epochs), 3),
        "earlier_seconds": round(snapshots.earlier_seconds, 3),
    }
    device = str(resolve_device(machine.device))
    write(folder / Path(PATHS["history"]).name, "history", epochs, device=device, extra=spent)
    write(folder / Path(PATHS["training_set"]).name, "training_set", training_set.rows())


def _put_in_place(folder: Path, output: Path, facts: Mapping[str, object]) -> None:
    """Write the manifest of a whole checkpoint, and give the folder its name."""
    made_by = {"version": version("exparity"), "lineage": current_run().lineage}
    write_manifest(folder / MANIFEST, {**facts, **made_by})
    open_to_colleagues(folder)
    shutil.rmtree(output, ignore_errors=True)
    folder.replace(output)
    sync(output.parent)


def _check_untrained(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    texts: Sequence[str | tuple[str, str]],
) -> None:
    """Refuse a model that the engine does not run as it is, before it is trained."""
    from exparity.engine.loading import load_classifier
    from exparity.engine.preflight import check_function

    if head_of(model.config).head_id != SEQUENCE:
        return
    classifier = load_classifier((copy.deepcopy(model), tokenizer), "cpu")
    ids = [encoding.token_ids for encoding in classifier.encode(texts)]
    check_function(classifier, ids, texts)
    del classifier
    give_back_memory()  # a copy of the model, and its packed weights


def _save(
    trained: Trained | None, folder: Path, output: Path, specs: tuple[ModelSpec, TrainingSpec]
) -> None:
    """Write a classifier, None of a function, to a folder that is to become ``output``.

    A prompted model as it is is not copied: its weights may be large, and each prompt has a folder.
    """
    from exparity.models.folders import quiet_transformers
    from exparity.models.lora import is_adapter
    from exparity.models.manifest import write_reference

    model, training = specs
    prompted = HEADS.get(model.head).facts.prompted
    shutil.rmtree(folder, ignore_errors=True)
    if trained is None:
        write_function(folder, model)
        return
    with quiet_transformers(), saving(output):
        as_it_is = model.init == "pretrained" and not training.epochs and model.adapter is None
        if prompted and as_it_is and not is_adapter(Path(str(model.checkpoint))):
            write_reference(folder, model, trained.model.config, trained.tokenizer.model_max_length)
        else:
            save_weights(trained.model, folder)
            trained.tokenizer.save_pretrained(folder)
        trained.head.write(folder)


def _check_classes(
    specs: tuple[ModelSpec, TrainingSpec], data: PreparedData, model_id: str, *, is_prompted: bool
) -> None:
    """Check that what is not trained has the classes of the data, in their order."""
    model, training = specs
    if data.labels_sorted and model.checkpoint and not (training.epochs or is_prompted):
        from exparity.models.checkpoints import check_order

        check_order(model, data.labels, data.dataset)
    if model.predict and list(model.classes) != list(data.labels):
        raise InputError(
            f"model {model_id}: the columns of {model.predict} are {', '.join(model.classes)}, and "
            f"the classes of {data.dataset} are {', '.join(data.labels)}; name them in the order "
            f"of the columns in datasets.{data.dataset}.labels"
        )


def _prompt_spec(prompt: Mapping[str, object], data: PreparedData, model_id: str) -> PromptSpec:
    """Return the prompt of a model, with the words in the order of the classes."""
    spec = read_settings(PromptSpec, prompt, "prompt")
    if set(spec.words) != set(data.labels):
        raise InputError(
            f"model {model_id}: prompts.{data.dataset}.words are of {', '.join(spec.words)}, and "
            f"the classes of the data are {', '.join(data.labels)}; give a word for each of these"
        )
    return spec.model_copy(update={"words": {label: spec.words[label] for label in data.labels}})


def _calibrate(classifier: Classifier, data: PreparedData) -> None:
    """Set the bias of a prompted model's logits, from texts outside the test split."""
    head = classifier.head
    if not isinstance(head, LabelWords) or head.spec.calibrate == "none":
        return
    if head.spec.calibrate == "content_free":
        texts = list(CONTENT_FREE)
    else:
        texts = [e.text for e in sample(data.split("train"), _OF_PRIOR)]
    assert head.prompt is not None
    split_texts = [Text.of(text) for text in texts]
    encodings = encode_prompt(classifier.tokenizer, head.prompt, split_texts, classifier.max_length)
    ids = [encoding.token_ids for encoding in encodings]
    means = classifier.probabilities(ids).mean(axis=0)
    head.bias = (-np.log(means)).tolist()


def _interventions(
    debias: Sequence[Mapping[str, object]], counterfactuals: Mapping[str, object]
) -> dict[str, object]:
    """Return the interventions as artefacts record them; empty without any."""

    def call(settings: Mapping[str, object]) -> dict[str, object]:
        return {"use": settings["use"], "params": dict(as_mapping(settings.get("params", {})))}

    if not debias:
        return {}
    generator = {"counterfactuals": call(counterfactuals)} if counterfactuals else {}
    return {"debias": list(map(call, debias)), **generator}


def _check_replaceable(output: Path) -> None:
    """Check that nothing but an earlier checkpoint of a training is at the place of the new one."""
    if not output.exists() or (output / MANIFEST).is_file():
        return
    if names := sorted(path.name for path in output.iterdir()):
        raise InputError(
            f"output: {output} holds {names[0]} and is no checkpoint that exparity wrote, which a "
            "new one may replace; name another folder"
        )


def predict(
    checkpoint: Path,
    data: PreparedData,
    output: Path,
    write: Callable[..., None],
    machine: Machine,
) -> None:
    """Predict the test split with a saved checkpoint, and write the predictions."""
    from exparity.engine.loading import load_classifier
    from exparity.engine.preflight import check_function

    examples = data.split("test")
    classifier = load_classifier(str(checkpoint), **machine.of_classifier)
    _calibrate(classifier, data)
    classifier.head.write(checkpoint)
    encodings = classifier.encode([e.parts for e in examples])
    ids = [encoding.token_ids for encoding in encodings]
    check_function(classifier, ids, [e.pair or e.text for e in examples])
    probabilities = classifier.probabilities(ids)
    predicted = probabilities.argmax(-1)
    labels = np.array([e.label for e in examples])
    log.info("test accuracy %.4f on %d examples", (predicted == labels).mean(), len(examples))
    counts = np.bincount(predicted, minlength=classifier.n_classes)
    if (counts > 0).sum() == 1:
        log.warning("the classifier predicts class %d for every test example", counts.argmax())
    masses = classifier.label_mass(ids)
    extra: dict[str, object] = {}
    if masses is not None:
        label_mass = float(masses.mean())
        extra = {"label_mass": label_mass}
        if label_mass < LEAST_LABEL_MASS:
            extra |= {"flags": [LABEL_MASS_LOW]}
            message = "the words of the classes have %.3f of the probability after the prompt"
            log.warning(message, label_mass)
    rows = [
        {
            **key_of(example),
            "label": example.label,
            "probabilities": probabilities[i].tolist(),
            "predicted": int(predicted[i]),
            "label_mass": None if masses is None else float(masses[i]),
        }
        for i, example in enumerate(examples)
    ]
    if pieces := pieces_by_group(encodings, [e.group for e in examples]):
        extra |= {"pieces_by_group": pieces}
    write(output, "predictions", rows, device=str(classifier.device), extra=extra)
