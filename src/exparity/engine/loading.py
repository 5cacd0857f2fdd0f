"""Load a classifier from a checkpoint, from loaded objects or from a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exparity.core.calls import checked, checked_value, listed
from exparity.core.device import Precision, require_bf16, resolve_device
from exparity.core.errors import InputError, shown
from exparity.core.flags import Budget
from exparity.core.undisturbed import undisturbed
from exparity.engine.black_box import BlackBox, Predict
from exparity.engine.classifier import Classifier
from exparity.engine.preflight import check_function
from exparity.engine.sources import is_function, objects_of, settings_of
from exparity.models.checkpoints import load_config, load_model, load_tokenizer
from exparity.models.functions import load_function, read_function
from exparity.models.heads import LABEL_WORDS, SEQUENCE, Head, head_of, new_head
from exparity.models.inputs import check_vocabulary, input_limit, input_table
from exparity.models.manifest import read_reference, require_intact
from exparity.models.placement import Placement, is_spread, main_device
from exparity.models.prompts import TEXT, PromptSpec

if TYPE_CHECKING:
    import torch
    from transformers import Pipeline, PreTrainedModel, PreTrainedTokenizerFast

    LoadedObjects = tuple[torch.nn.Module, PreTrainedTokenizerFast] | Pipeline


@undisturbed()
@checked
def load_classifier(
    checkpoint: object,
    device: str = "auto",
    precision: Precision = "fp32",
    *,
    revision: str | None = None,
    device_map: str | Mapping[str, str | int] | None = None,
    max_memory: str | None = None,
    max_length: int | None = None,
    token_budget: Budget | None = None,
    shortcuts: bool = False,
    prompt: str | None = None,
    words: Mapping[str, str] | None = None,
    chat: bool = False,
    label: str | None = None,
    classes: Sequence[str] | None = None,
    mask: str | None = None,
    max_calls: Budget | None = None,
) -> Classifier:
    """Load a sequence classifier or a prompted language model, or take a loaded one or a function.

    Args:
        checkpoint: folder or Hub id, with safetensors weights and a fast tokenizer; or objects of
            transformers, a pair (model, tokenizer) or a pipeline for text classification or
            generation, which are used as they are, not copied, with dropout switched off; or a
            black box: a function from a list of n texts to their (n, c) probabilities. A classifier
            is returned unchanged.
        device: ``auto`` (a GPU if there is one; objects stay where they are), ``cpu``, ``cuda`` or
            ``cuda:N``. Of several GPUs, one that the fewest of your processes have.
        precision: ``fp32``, ``bf16`` (weights in bfloat16; probabilities still in float32), or
            ``fp16`` (float16 for GPUs without bf16; gradients use fp32, and so do texts that leave
            the range of float16 or are too coarse in it). Objects keep theirs.
        revision: commit of a Hub repository.
        device_map: for models that fit on no single device, how accelerate spreads the weights over
            GPUs, the CPU and the disk: ``auto``, ``balanced``, ``balanced_low_0``, ``sequential``,
            or the device of each module by name, also as JSON. Instead of ``device``.
        max_memory: most memory that weights take by device with ``device_map``, such as
            ``0=14GiB,cpu=60GiB``; what does not fit stays on disk. What is free if None.
        max_length: longest input in tokens; longer texts are cut. The model's limit if None.
        token_budget: padded tokens per batch; a measured default for the device if None.
        shortcuts: leave out work of the last layer that cannot reach the output; faster, with
            probabilities that differ by rounding alone. Known for BERT, RoBERTa, GPT-2
            and OLA.
        prompt: template with ``{text}`` in it, for a causal language model; None for the text
            alone. The tokens around the text are neither masked, removed nor scored.
        words: word that answers the prompt for each class, by class, with the blank before it, such
            as ``{"negative": " bad", "positive": " good"}``.
        label: the label to explain of a model of several labels: the classes are then this label
            and its absence. Without it, each label is a target, with its own probability.
        chat: put the prompt into the tokenizer's chat template, as a message of the user.
        classes: names of the columns of a function, in order. A function takes only this argument
            and those that follow.
        mask: replacement of a word that a method masks, such as ``...``; None leaves it out.
        max_calls: most texts that the function is asked about; no limit if None. Each text is asked
            about once, and three a second time, to check that answers repeat.

    Returns:
        A classifier for :func:`exparity.explain` and :func:`exparity.evaluate`.

    Raises:
        InputError: the checkpoint is missing, damaged, not a classifier, asks for code of its own
            or has weights that would be random, or a bad argument.

    Examples:
        >>> import exparity
        >>> exparity.load_classifier("model").class_names
        ('female', 'male')

        A function of texts:

        >>> def predict(texts):
        ...     return [[0.1, 0.9] if "good" in text else [0.8, 0.2] for text in texts]
        >>> classifier = exparity.load_classifier(predict, classes=["bad", "good"])
        >>> classifier.predict_proba(["a good film", "dull"]).tolist()
        [[0.1, 0.9], [0.8, 0.2]]
    """
    model_options = ModelOptions(
        device=device,
        precision=precision,
        revision=revision,
        device_map=device_map,
        max_memory=max_memory,
        max_length=max_length,
        token_budget=token_budget,
        shortcuts=shortcuts,
        prompt=prompt,
        words=words,
        chat=chat,
        label=label,
    )
    function_options = FunctionOptions(classes=classes, mask=mask, max_calls=max_calls)
    return _classifier_of(checkpoint, model_options, function_options)


def _classifier_of(
    checkpoint: Any, model_options: ModelOptions, function_options: FunctionOptions
) -> Classifier:
    """Return the classifier of a folder, of loaded objects or of a function of texts."""
    if isinstance(checkpoint, Classifier):
        _check_loaded(checkpoint, model_options, function_options)
        return checkpoint
    if hasattr(checkpoint, "predict_proba") and not callable(checkpoint):
        raise InputError(
            f"{type(checkpoint).__name__}: give its function of texts: load_classifier("
            "model.predict_proba, classes=[...])"
        )
    has_classes = function_options.classes is not None
    if callable(checkpoint) and (has_classes or is_function(checkpoint)):
        reason = "is for models; a function of texts runs as it is, so leave it out"
        model_options.refuse(reason)
        return from_function(checkpoint, function_options)
    reason = f"is for a function of texts, not for {shown(checkpoint)}; leave it out"
    if isinstance(checkpoint, str | Path):
        function_options.refuse(reason, "classes", "mask")  # a folder may refer to a function
        name = str(checked_value(checkpoint, str | Path, "checkpoint"))
        return from_checkpoint(name, model_options, max_calls=function_options.max_calls)
    function_options.refuse(reason)
    return from_objects(checkpoint, model_options)


@dataclass(frozen=True)
class _Options:
    """Arguments of :func:`load_classifier` that go together."""

    def refuse(self, reason: str, *names: str) -> None:
        """Refuse arguments that are not at their defaults: those of these names, or any."""
        defaults = {field.name: field.default for field in fields(self)}
        for name in names or defaults:
            value = getattr(self, name)
            if type(value) is not type(defaults[name]) or value != defaults[name]:
                raise InputError(f"{name}: {reason}")


@dataclass(frozen=True, kw_only=True)
class ModelOptions(_Options):
    """Arguments that models take; a function of texts takes none of them."""

    device: str = "auto"
    precision: Precision = "fp32"
    revision: str | None = None
    device_map: str | Mapping[str, str | int] | None = None
    max_memory: str | None = None
    max_length: int | None = None
    token_budget: int | None = None
    shortcuts: bool = False
    prompt: str | None = None
    words: Mapping[str, str] | None = None
    chat: bool = False
    label: str | None = None

    def prompt_spec(self) -> PromptSpec | None:
        """Return the prompt of a language model; None for a model with a classification head."""
        if self.label is not None and self.words is not None:
            raise InputError("label: is for models with a classification head; leave it out")
        if self.words is None:
            if self.prompt is not None or self.chat:
                raise InputError("words: name the word that answers the prompt for each class")
            return None
        template = TEXT if self.prompt is None else self.prompt
        return PromptSpec(template=template, words=self.words, chat=self.chat)

    def placement(self) -> Placement | None:
        """Return the placement that the options describe; refuse what contradicts it."""
        placement = Placement.read(self.device_map, self.max_memory)
        if placement is not None and self.device != "auto":
            raise InputError(
                f"device '{self.device}': device_map says where weights go; leave one out"
            )
        if placement is not None and self.precision == "fp16":
            raise InputError("precision fp16: holds the weights twice; use bf16 with device_map")
        return placement


@dataclass(frozen=True, kw_only=True)
class FunctionOptions(_Options):
    """Arguments that functions of texts take; a model takes none of them."""

    classes: Sequence[str] | None = None
    mask: str | None = None
    max_calls: int | None = None


@dataclass(frozen=True)
class _ReadyModel:
    """A model that is loaded and placed, with what a classifier needs beside it.

    Attributes:
        name: what messages call it.
        model: the model of transformers.
        tokenizer: its fast tokenizer.
        head: its kind of classification.
        device: where it runs.
        outermost: the model of peft around it, or the model itself.
    """

    name: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    head: Head
    device: torch.device
    outermost: torch.nn.Module


def from_function(predict: Predict, options: FunctionOptions) -> BlackBox:
    """Take a function from a list of n texts to their (n, c) probabilities.

    Raises:
        InputError: the classes are missing, fewer than two, or not distinct.
    """
    if options.classes is None:
        raise InputError(
            "classes: name the columns of the function, in order: load_classifier(predict, "
            "classes=[...])"
        )
    classes = listed(options.classes, "classes", "names")
    names = [str(checked_value(name, str | int, "classes")) for name in classes]
    if len(set(names)) < max(2, len(names)):
        raise InputError(f"classes: must be two different names or more, not {shown(names)}")
    return BlackBox(predict, names, mask=options.mask, max_calls=options.max_calls)


def from_checkpoint(
    checkpoint: str, options: ModelOptions, *, max_calls: int | None = None
) -> Classifier:
    """Load what a folder or a Hub id holds: a model, or a reference to a function of texts.

    Raises:
        InputError: the checkpoint is missing, damaged or not a classifier, or a bad option.
    """
    prompt = options.prompt_spec()
    if function := read_function(Path(checkpoint)):
        require_intact(Path(checkpoint))
        own_options = FunctionOptions(
            classes=function.classes, mask=function.mask, max_calls=max_calls
        )
        return from_function(load_function(function.predict), own_options)
    placement = options.placement()
    device = resolve_device(options.device)
    if options.precision == "bf16":
        require_bf16(device, "precision")
    model, tokenizer, head = _read_checkpoint(
        checkpoint, options.revision, options.precision, prompt, placement
    )
    if placement is not None:
        device = main_device(model)
    ready = _ReadyModel(checkpoint, model, tokenizer, head, device, outermost=model)
    return _classifier(ready, options, options.max_length)


def from_objects(source: LoadedObjects, options: ModelOptions) -> Classifier:
    """Take a pair (model, tokenizer), or a pipeline of transformers; nothing is copied.

    Raises:
        InputError: the objects are something else, or a bad option.
    """
    prompt = options.prompt_spec()
    reason = "a loaded model has its own; leave it out"
    options.refuse(reason, "revision", "precision", "device_map", "max_memory")
    model, tokenizer, outermost = objects_of(source)
    head = new_head(LABEL_WORDS if prompt else SEQUENCE)
    head.require_model(model)
    if prompt:
        head.bind(prompt, tokenizer)
    name = model.config.name_or_path or type(model).__name__
    device = _device_of_objects(name, model, options.device)
    ready = _ReadyModel(name, model, tokenizer, head, device, outermost)
    return _classifier(ready, options, options.max_length or settings_of(source).max_length)


def _check_loaded(
    classifier: Classifier, model_options: ModelOptions, function_options: FunctionOptions
) -> None:
    """Refuse options beside a classifier that is loaded already."""
    device = model_options.device
    if device != "auto" and resolve_device(device) != classifier.device:
        raise InputError(
            f"device '{device}': the classifier is loaded, on {classifier.device}; leave it out"
        )
    reason = "the classifier is loaded already; set it there"
    replace(model_options, device="auto").refuse(reason)
    function_options.refuse(reason)


def _classifier(ready: _ReadyModel, options: ModelOptions, max_length: int | None) -> Classifier:
    """Build the classifier of a model, after checks of its label, vocabulary and length."""
    model = ready.model
    tokenizer = ready.tokenizer
    head = ready.head
    head.label = options.label
    head.class_names(model.config)  # an unknown label is refused before other faults
    check_vocabulary(ready.name, model, tokenizer)
    limit = input_limit(model, tokenizer)
    if max_length is not None and not 1 <= max_length <= limit:
        raise InputError(f"max_length {max_length}: the model takes 1 to {limit} tokens")
    classifier = Classifier(
        model,
        tokenizer,
        head=head,
        device=ready.device,
        max_length=limit if max_length is None else max_length,
        token_budget=options.token_budget,
        shortcuts=options.shortcuts,
    )
    if ready.outermost is not model:
        classifier.outermost = ready.outermost
        _check_adapter(classifier)
    return classifier.in_fp16() if options.precision == "fp16" else classifier


_ANY_TEXT = "a"


def _check_adapter(classifier: Classifier) -> None:
    """Refuse a model of peft that computes something that its layers alone do not."""
    ids = [encoding.token_ids for encoding in classifier.encode([_ANY_TEXT])]
    check_function(classifier, ids, [_ANY_TEXT])
    classifier.is_compared = False  # texts to explain are another trial


def _read_checkpoint(
    checkpoint: str,
    revision: str | None,
    precision: str,
    spec: PromptSpec | None,
    placement: Placement | None,
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast, Head]:
    """Return the model of a checkpoint, its tokenizer and its head."""
    dtype = "bfloat16" if precision == "bf16" else "float32"
    folder = Path(checkpoint)
    base = read_reference(folder)
    if base is not None:
        require_intact(folder)
        checkpoint = base.checkpoint
        revision = base.revision
    prompted = spec is not None or base is not None
    head = new_head(LABEL_WORDS) if prompted else head_of(load_config(checkpoint, revision))
    model = load_model(checkpoint, revision, dtype=dtype, head=head, placement=placement)
    tokenizer = load_tokenizer(checkpoint, revision)
    if base is not None:
        tokenizer.model_max_length = base.max_length
    if spec:
        head.bind(spec, tokenizer)
    else:
        head.read(folder)
    return model, tokenizer, head


def _device_of_objects(name: str, model: PreTrainedModel, device: str) -> torch.device:
    """Return the device of a loaded model: where it is, or the one to move it to."""
    if device != "auto" and is_spread(model):
        raise InputError(f"device '{device}': {name} is spread over devices; leave it out")
    if is_spread(model):
        return main_device(model)
    if any(weight.is_meta for weight in model.parameters()):
        raise InputError(f"{name}: has weights that are on no device; load it with its weights")
    present = input_table(name, model).weight.device
    return present if device == "auto" else resolve_device(device)
