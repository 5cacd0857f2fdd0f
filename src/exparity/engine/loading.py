"""Load a classifier from a checkpoint, from loaded objects or from a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from exparity.core.calls import checked, checked_value, listed
from exparity.core.device import require_bf16, resolve_device
from exparity.core.errors import InputError, shown
from exparity.core.flags import Budget
from exparity.core.undisturbed import undisturbed
from exparity.engine.black_box import BlackBox
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
    from transformers import PreTrainedModel, PreTrainedTokenizerFast


@undisturbed()
@checked
def load_classifier(
    checkpoint: Any,
    device: str = "auto",
    precision: Literal["fp32", "bf16", "fp16"] = "fp32",
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
    arguments = dict(locals())
    if isinstance(checkpoint, Classifier):
        here = checkpoint.device
        if device != "auto" and resolve_device(device) != here:
            raise InputError(
                f"device '{device}': the classifier is loaded, on {here}; leave it out"
            )
        of_others = (*_OF_MODELS[1:], *_OF_FUNCTIONS)
        _refuse(arguments, of_others, "the classifier is loaded already; set it there")
        return checkpoint
    if hasattr(checkpoint, "predict_proba") and not callable(checkpoint):
        raise InputError(
            f"{type(checkpoint).__name__}: give its function of texts: load_classifier("
            "model.predict_proba, classes=[...])"
        )
    if callable(checkpoint) and (classes is not None or is_function(checkpoint)):
        reason = "is for models; a function of texts runs as it is, so leave it out"
        _refuse(arguments, _OF_MODELS, reason)
        return _of_function(checkpoint, classes, mask, max_calls)
    is_name = isinstance(checkpoint, str | Path)
    reason = f"is for a function of texts, not for {shown(checkpoint)}; leave it out"
    # A folder may refer to a function.
    _refuse(arguments, _OF_FUNCTIONS[:2] if is_name else _OF_FUNCTIONS, reason)
    if label is not None and words is not None:
        raise InputError("label: is for models with a classification head; leave it out")
    if words is None and (prompt is not None or chat):
        raise InputError("words: name the word that answers the prompt for each class")
    template = TEXT if prompt is None else prompt
    spec = None if words is None else PromptSpec(template=template, words=words, chat=chat)
    if is_name:
        name = str(checked_value(checkpoint, str | Path, "checkpoint"))
        if function := read_function(Path(name)):
            require_intact(Path(name))
            predict = load_function(function.predict)
            return _of_function(predict, function.classes, function.mask, max_calls)
        placement = _placement(device_map, max_memory, device, precision)
        target = resolve_device(device)
        if precision == "bf16":
            require_bf16(target, "precision")
        model, tokenizer, head = _loaded(name, revision, precision, spec, placement)
        if placement is not None:
            target = main_device(model)
        outermost = model
    else:
        names = ("revision", "precision", "device_map", "max_memory")
        _refuse(arguments, names, "a loaded model has its own; leave it out")
        model, tokenizer, outermost = objects_of(checkpoint)
        name, head, target = _taken(model, tokenizer, device, spec)
        max_length = max_length or settings_of(checkpoint).max_length
    head.label = label
    head.class_names(model.config)  # a label that there is not is named first
    check_vocabulary(name, model, tokenizer)
    limit = input_limit(model, tokenizer)
    if max_length is not None and not 1 <= max_length <= limit:
        raise InputError(f"max_length {max_length}: the model takes 1 to {limit} tokens")
    classifier = Classifier(
        model,
        tokenizer,
        head=head,
        device=target,
        max_length=limit if max_length is None else max_length,
        token_budget=token_budget,
        shortcuts=shortcuts,
    )
    if outermost is not model:
        classifier.outermost = outermost
        _check_adapter(classifier)
    return classifier.in_fp16() if precision == "fp16" else classifier


def _check_adapter(classifier: Classifier) -> None:
    """Refuse a model of peft that computes something that its layers alone do not."""
    ids = [encoding.token_ids for encoding in classifier.encode([_ANY_TEXT])]
    check_function(classifier, ids, [_ANY_TEXT])
    classifier.is_compared = False  # texts to explain are another trial


_ANY_TEXT = "a"
_PARAMETERS = signature(load_classifier).parameters
_OF_FUNCTIONS = ("classes", "mask", "max_calls")
_OF_MODELS = tuple(name for name in [*_PARAMETERS][1:] if name not in _OF_FUNCTIONS)


def _refuse(arguments: Mapping[str, Any], names: Sequence[str], reason: str) -> None:
    """Refuse arguments of these names that are not at their defaults."""
    for name in names:
        value, default = arguments[name], _PARAMETERS[name].default
        if type(value) is not type(default) or value != default:
            raise InputError(f"{name}: {reason}")


def _of_function(
    predict: Any, classes: Sequence[str] | None, mask: str | None, max_calls: int | None
) -> BlackBox:
    if classes is None:
        raise InputError(
            "classes: name the columns of the function, in order: load_classifier(predict, "
            "classes=[...])"
        )
    listed_names = listed(classes, "classes", "names")
    names = [str(checked_value(name, str | int, "classes")) for name in listed_names]
    if len(set(names)) < max(2, len(names)):
        raise InputError(f"classes: must be two different names or more, not {shown(names)}")
    return BlackBox(predict, names, mask=mask, max_calls=max_calls)


def _placement(
    device_map: str | Mapping[str, str | int] | None,
    max_memory: str | None,
    device: str,
    precision: str,
) -> Placement | None:
    """Return the placement that arguments describe; refuse what contradicts it."""
    placement = Placement.read(device_map, max_memory)
    if placement is not None and device != "auto":
        raise InputError(f"device '{device}': device_map says where weights go; leave one out")
    if placement is not None and precision == "fp16":
        raise InputError("precision fp16: holds the weights twice; use bf16 with device_map")
    return placement


def _loaded(
    checkpoint: str,
    revision: str | None,
    precision: str,
    spec: PromptSpec | None,
    placement: Placement | None,
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast, Head]:
    dtype = "bfloat16" if precision == "bf16" else "float32"
    folder, base = Path(checkpoint), read_reference(Path(checkpoint))
    if base is not None:
        require_intact(folder)
        checkpoint, revision = base.checkpoint, base.revision
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


def _taken(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, device: str, spec: PromptSpec | None
) -> tuple[str, Head, torch.device]:
    head = new_head(LABEL_WORDS if spec else SEQUENCE)
    head.require_model(model)
    if spec:
        head.bind(spec, tokenizer)
    name = model.config.name_or_path or type(model).__name__
    if device != "auto" and is_spread(model):
        raise InputError(f"device '{device}': {name} is spread over devices; leave it out")
    if is_spread(model):
        return name, head, main_device(model)
    if any(weight.is_meta for weight in model.parameters()):
        raise InputError(f"{name}: has weights that are on no device; load it with its weights")
    own = input_table(name, model).weight.device
    return name, head, own if device == "auto" else resolve_device(device)
