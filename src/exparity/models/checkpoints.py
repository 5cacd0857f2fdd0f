"""Loading checkpoints from a folder or the Hub: safetensors only, no code from checkpoints."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exparity.core.errors import InputError
from exparity.models.class_names import require_order
from exparity.models.folders import clear_errors, folder_of, quiet_transformers
from exparity.models.heads import HEADS, SEQUENCE, Head, new_head
from exparity.models.inputs import check_vocabulary
from exparity.models.lookup import not_finite
from exparity.models.lora import (
    check_base,
    read_adapter,
    replaced_weights,
    with_adapter,
    with_base,
)
from exparity.models.placement import Placement
from exparity.models.schemes import TRAINED_PARTS
from exparity.models.scratch import SETTLED, random_model, train_tokenizer
from exparity.models.spec import ModelSpec

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

    from exparity.models.auto import AutoClass

log = logging.getLogger(__name__)

_DTYPES = ("F64", "F32", "F16", "BF16")
"""Types of safetensors that hold weights as they are, without a scale."""
_PAD_TOKEN = "<|pad|>"
_IDLE = re.compile(r"(^|\.)(pooler\..*|position_ids|token_type_ids|masked_bias|inv_freq)$")
"""Tensors of an encoder that many checkpoints have and not every model of their kind reads."""


def load_config(name: str, revision: str | None = None, adapter: Path | None = None) -> Any:
    """Load a checkpoint's configuration; an adapter has its base's, with its own head."""
    from exparity.models.auto import AutoConfig

    name, revision, adapter = with_base(name, revision, adapter)
    folder = folder_of(name, revision)
    with quiet_transformers(), clear_errors(name, revision):
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        config._commit_hash = None if folder == Path(name) else folder.name
        config.return_dict = True  # outputs by name, whatever it was saved with
    if adapter is not None:
        _set_head(config, adapter)
    return config


def _set_head(config: PreTrainedConfig, adapter: Path) -> None:
    """Have a configuration name the head that an adapter was saved with, if it was with one."""
    from transformers import AutoModelForSequenceClassification

    shapes = replaced_weights(adapter).items()
    output_counts = [shape[0] for name, shape in shapes if name.endswith("weight")]
    classifiers: Any = AutoModelForSequenceClassification._model_mapping
    is_classifier = read_adapter(adapter).get("task_type") == "SEQ_CLS"
    if is_classifier and output_counts and type(config) in classifiers:
        config.architectures = [classifiers[type(config)].__name__]
        if config.num_labels != min(output_counts):
            config.num_labels = min(output_counts)


def load_tokenizer(name: str, revision: str | None = None) -> PreTrainedTokenizerFast:
    """Load a tokenizer that can tell which characters each token covers."""
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    if not (Path(name) / "tokenizer.json").is_file():
        name, revision, _ = with_base(name, revision)
    folder = folder_of(name, revision)
    with quiet_transformers(), clear_errors(name, revision):
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise InputError(
            f"checkpoint {name}: its tokenizer has no tokenizer.json; convert it to a fast one"
        )
    # Without files, transformers makes a tokenizer of special tokens alone.
    if set(tokenizer.get_vocab()) <= set(tokenizer.all_special_tokens):
        raise InputError(
            f"checkpoint {name}: has no tokenizer; save the one that the model was trained with "
            "beside it (tokenizer.save_pretrained)"
        )
    return tokenizer


def check_order(spec: ModelSpec, labels: Sequence[str], dataset: str) -> None:
    """Refuse sorted classes for a checkpoint as it is that does not name its outputs."""
    name = str(spec.checkpoint)
    head = new_head(spec.head, spec.label)
    config = load_config(name, spec.revision, None if spec.adapter is None else Path(spec.adapter))
    head.require(name, config, labels)
    if not head.keeps_outputs(config):
        order = f"datasets.{dataset}.labels: [{', '.join(labels)}]"
        require_order(config.id2label, labels, f"checkpoint {name}", order)


def load_model(
    name: str,
    revision: str | None = None,
    *,
    labels: Sequence[str] | None = None,
    dtype: str = "float32",
    scheme: str | None = None,
    head: Head | None = None,
    adapter: Path | None = None,
    placement: Placement | None = None,
) -> PreTrainedModel:
    """Load a classifier's weights, with those of an adapter merged into them."""
    head = head or new_head(SEQUENCE)
    if adapter is not None:
        check_base(adapter, name)
    name, revision, adapter = with_base(name, revision, adapter)
    if adapter is not None and placement is not None:
        raise InputError(
            f"adapter {adapter}: cannot be merged into a model that is spread over devices "
            "(device_map); save the merged model, and load that"
        )
    config = load_config(name, revision, adapter)
    with clear_errors(name, revision):
        if scheme is None:
            head.require(name, config, labels)
            labels = None if head.keeps_outputs(config) else labels
        for key, value in head.settings(labels).items() if labels is not None else ():
            setattr(config, key, value)
    model, new = load_weights(
        head.auto_class, name, revision, config=config, dtype=dtype, placement=placement
    )
    if adapter is not None:
        model = with_adapter(model, adapter)
        new = sorted(set(new) - replaced_weights(adapter).keys())
    if head.label is not None:
        model.config.exparity_label = head.label
    trained = TRAINED_PARTS[scheme] if scheme else frozenset()
    if random := [weight for weight in new if _part(model, weight) not in trained]:
        raise lacking_weights(name, random)
    if new:
        log.info("checkpoint %s: new weights, to be trained: %s", name, ", ".join(new))
    return model


def _part(model: PreTrainedModel, weight: str) -> str | None:
    """Return the part of a weight that may be new: head or pooler; None for others."""
    if weight.startswith(f"{model.base_model_prefix}.pooler."):
        return "attention"
    inside = model.base_model is model or weight.startswith(f"{model.base_model_prefix}.")
    return None if inside else "classification"


def lacking_weights(name: str, weights: Sequence[str]) -> InputError:
    """Return the refusal of weights that a checkpoint lacks or has in another shape."""
    return InputError(
        f"checkpoint {name}: lacks {_names(weights)}, or has them in another shape than "
        "config.json says, so that they would be random; save weights and config.json from one "
        "model, without a prefix (module., _orig_mod.) before its names; what is only a new head "
        "or pooler needs training (scheme: all)"
    )


def _names(weights: Sequence[str]) -> str:
    more = f" and {len(weights) - 3} more" if len(weights) > 3 else ""
    return ", ".join(weights[:3]) + more


def load_weights(
    auto: AutoClass,
    name: str,
    revision: str | None,
    *,
    config: PreTrainedConfig,
    dtype: str = "float32",
    placement: Placement | None = None,
) -> tuple[PreTrainedModel, list[str]]:
    """Load a model; return it and the sorted names of weights that the checkpoint does not have."""
    folder = folder_of(name, revision, weights=True)
    options = {"config": config, "dtype": dtype, "use_safetensors": True}
    options |= {"ignore_mismatched_sizes": True, "output_loading_info": True}
    if placement is not None:
        options |= placement.arguments
    with quiet_transformers(), clear_errors(name, revision):
        model, report = auto.from_pretrained(folder, trust_remote_code=False, **options)
    _check_tensors(name, folder, model, report["unexpected_keys"])
    model.config._name_or_path = model.name_or_path = name
    return model, sorted(report["missing_keys"] | {key for key, *_ in report["mismatched_keys"]})


def _check_tensors(
    name: str, folder: Path, model: PreTrainedModel, unexpected: Iterable[str]
) -> None:
    """Refuse tensors of another model, of a diverged training or of quantised weights."""
    from safetensors import safe_open

    inside = (model.base_model_prefix, *(child for child, _ in model.base_model.named_children()))
    quantised = []
    for path in sorted(folder.glob("model*.safetensors")):
        with clear_errors(name), safe_open(path, framework="pt") as file:
            weights = [key for key in file.keys() if key.endswith(".weight")]  # noqa: SIM118
            types = {key: file.get_slice(key).get_dtype() for key in weights}
        quantised += [key for key, dtype in types.items() if dtype not in _DTYPES]
    faults = {
        "not in a model of its config.json; save weights and config.json from one model": [
            key
            for key in sorted(unexpected)
            if key.split(".")[0] in inside and not _IDLE.search(key)
        ],
        "with values that are not finite; its training has diverged, or the file is damaged": (
            not_finite(model)
        ),
        # The scale that belongs to them is lost.
        "as whole numbers or float8, as of quantised weights; save it dequantised": quantised,
    }
    for fault, keys in faults.items():
        if keys:
            raise InputError(f"checkpoint {name}: holds {_names(keys)} {fault}")


def build_model(
    spec: ModelSpec,
    labels: Sequence[str],
    texts: Sequence[str | tuple[str, str]],
    *,
    trained: bool = True,
    placement: Placement | None = None,
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """Return the untrained classifier of a spec, drawn by torch's generator, and its tokenizer."""
    head = new_head(spec.head, spec.label)
    prompted = HEADS.get(spec.head).facts.prompted
    if trained and spec.label is not None:
        raise InputError(
            f"label '{spec.label}': needs a checkpoint without training; set epochs to 0"
        )
    if spec.checkpoint is not None:
        tokenizer = load_tokenizer(spec.checkpoint, spec.revision)
    else:
        tokenizer = train_tokenizer(spec, texts)
    if spec.init == "pretrained":
        assert spec.checkpoint is not None
        scheme = spec.scheme if trained and not prompted else None
        adapter = None if spec.adapter is None else Path(spec.adapter)
        model = load_model(
            spec.checkpoint,
            spec.revision,
            labels=labels,
            scheme=scheme,
            head=head,
            adapter=adapter,
            placement=None if trained else placement,
        )
    else:
        model = random_model(_with_shape_of_checkpoint(spec), tokenizer, labels)
    check_vocabulary(spec.checkpoint, model, tokenizer)
    if not prompted:  # a new row would be random, and padding is known by length
        if tokenizer.pad_token_id is None:  # of models that were trained without, such as GPT-2
            tokenizer.add_special_tokens({"pad_token": _PAD_TOKEN})
            with quiet_transformers():
                model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
            log.info("added a padding token to the vocabulary")
        model.config.pad_token_id = tokenizer.pad_token_id
    return model, tokenizer


def _with_shape_of_checkpoint(spec: ModelSpec) -> ModelSpec:
    """Fill in architecture and size from the checkpoint that a model from scratch refers to."""
    from exparity.models.auto import AutoConfig

    if spec.checkpoint is None:
        return spec
    config = load_config(spec.checkpoint, spec.revision)
    if spec.architecture not in (None, config.model_type):
        return spec  # which takes the tokenizer alone
    config_keys = AutoConfig.for_model(config.model_type).to_dict()
    shape = {
        key: value
        for key, value in config.to_dict().items()
        if key in config_keys
        and isinstance(value, int | float | str)
        and not key.endswith("_token_id")
        and key not in SETTLED
        and key not in ("model_type", "transformers_version", "dtype", "_name_or_path")
    }
    return spec.model_copy(
        update={"architecture": config.model_type, "size": {**shape, **spec.size}}
    )
