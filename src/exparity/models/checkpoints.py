"""Loading checkpoints from a folder or the Hub: safetensors only, no code from checkpoints."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exparity.errors import InputError
from exparity.models.scratch import label_settings, random_model, train_tokenizer
from exparity.models.spec import ModelSpec

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

_PAD_TOKEN = "<|pad|>"
_NO_SAFETENSORS = (
    "it has no weights in safetensors; convert them once, as docs/models.md shows, and set "
    "'checkpoint' to the folder, or set 'revision' to one that has them"
)
_NO_NETWORK = (
    "fetch it where there is a network, by `snakemake fetch` with the run's config or `exparity "
    "data fetch --models`, or set 'checkpoint' to a folder"
)


@contextlib.contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence transformers' load reports and bars; its warnings are re-stated where they matter."""
    from transformers.utils import logging as hf_logging

    before = hf_logging.get_verbosity()
    bars = hf_logging.is_progress_bar_enabled()
    hf_logging.set_verbosity_error()
    hf_logging.disable_progress_bar()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        hf_logging.set_verbosity(before)
        if bars:
            hf_logging.enable_progress_bar()


def check_checkpoint(name: str) -> None:
    """Refuse early what cannot be a checkpoint.

    Raises:
        InputError: ``name`` looks like a path that does not exist, or a folder without a model.
    """
    path = Path(name)
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise InputError(f"checkpoint {path}: has no config.json, so it is not a model folder")
    elif name.startswith((".", "/", "~")) or path.is_file() or name.count("/") > 1:
        raise InputError(f"checkpoint {path}: no such folder")


def require_classifier(name: str, config: Any) -> None:
    """Refuse a checkpoint whose classification head was never trained.

    Raises:
        InputError: its configuration names another architecture.
    """
    architectures = config.architectures or []
    if not any(a.endswith("ForSequenceClassification") for a in architectures):
        found = ", ".join(architectures) or "no architecture"
        raise InputError(
            f"checkpoint {name}: is not a sequence classifier (it holds {found}); fine-tune it "
            "first, with `exparity finetune` or transformers"
        )


def require_classes(name: str, revision: str | None, n_classes: int) -> None:
    """Refuse to use a checkpoint as it is if its head would have to be a new, random one.

    Raises:
        InputError: it is not a classifier, or has another number of classes.
    """
    from exparity.models.auto import AutoConfig

    config = AutoConfig.from_pretrained(name, revision=revision)
    require_classifier(name, config)
    if config.num_labels != n_classes:
        raise InputError(
            f"checkpoint {name}: has {config.num_labels} classes and the data {n_classes}; with "
            "0 epochs its head would be random; train it, or bring data with its classes"
        )


@contextlib.contextmanager
def _clear_errors(name: str, revision: str | None) -> Iterator[None]:
    """Turn transformers' long explanations into one line."""
    from safetensors import SafetensorError

    try:
        yield
    except InputError:
        raise
    except (OSError, ValueError, KeyError, json.JSONDecodeError, SafetensorError) as error:
        at = f" at revision {revision}" if revision else ""
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if "file named model.safetensors" in reason:
            reason = _NO_SAFETENSORS
        elif "couldn't connect" in reason:
            reason = f"{reason.rstrip('.')}; {_NO_NETWORK}"
        raise InputError(f"checkpoint {name}{at}: cannot be loaded: {reason}") from error


def load_tokenizer(name: str, revision: str | None = None) -> PreTrainedTokenizerFast:
    """Load a tokenizer that can tell which characters each token covers.

    Raises:
        InputError: missing, or not backed by the tokenizers library.
    """
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    check_checkpoint(name)
    with quiet_transformers(), _clear_errors(name, revision):
        tokenizer = AutoTokenizer.from_pretrained(name, revision=revision)
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise InputError(
            f"checkpoint {name}: its tokenizer has no tokenizer.json; convert it to a fast one"
        )
    return tokenizer


def load_model(
    name: str,
    revision: str | None = None,
    *,
    labels: Sequence[str] | None = None,
    dtype: str = "float32",
) -> PreTrainedModel:
    """Load a classifier's weights.

    Args:
        name: Hub id or folder.
        revision: commit of the Hub repository.
        labels: class names to put a (new) classification head for; None to require a trained one.
        dtype: torch dtype of the weights.

    Raises:
        InputError: missing, without safetensors, or (``labels`` None) not a classifier.
    """
    from exparity.models.auto import AutoConfig, AutoModelForSequenceClassification

    check_checkpoint(name)
    # Or transformers would have a web service convert pickled weights, and load what it returns.
    os.environ["DISABLE_SAFETENSORS_CONVERSION"] = "1"
    with quiet_transformers(), _clear_errors(name, revision):
        config = AutoConfig.from_pretrained(name, revision=revision)
        if labels is None:
            require_classifier(name, config)
        else:
            for key, value in label_settings(labels).items():
                setattr(config, key, value)
        model: PreTrainedModel = AutoModelForSequenceClassification.from_pretrained(
            name,
            revision=revision,
            config=config,
            use_safetensors=True,
            dtype=dtype,
            ignore_mismatched_sizes=labels is not None,
        )
    return model


def build_model(
    spec: ModelSpec, labels: Sequence[str], texts: Sequence[str]
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """Return the untrained classifier of a spec and its tokenizer.

    New weights (all of them, or a new classification head) come from torch's current generator.

    Args:
        spec: the model.
        labels: class names by label index.
        texts: training texts, for a tokenizer from scratch.

    Raises:
        InputError: a checkpoint that cannot be loaded or a spec that cannot be built.
    """
    if spec.checkpoint is not None:
        tokenizer = load_tokenizer(spec.checkpoint, spec.revision)
    else:
        tokenizer = train_tokenizer(spec, texts)
    if spec.init == "pretrained":
        assert spec.checkpoint is not None
        model = load_model(spec.checkpoint, spec.revision, labels=labels)
    else:
        model = random_model(_with_shape_of_checkpoint(spec), tokenizer, labels)
    _ensure_padding(model, tokenizer)
    return model, tokenizer


def _with_shape_of_checkpoint(spec: ModelSpec) -> ModelSpec:
    """Fill in architecture and size from the checkpoint that a model from scratch refers to.

    To a model of another architecture, the checkpoint lends its tokenizer alone.
    """
    from exparity.models.auto import AutoConfig

    if spec.checkpoint is None:
        return spec
    with quiet_transformers(), _clear_errors(spec.checkpoint, spec.revision):
        config = AutoConfig.from_pretrained(spec.checkpoint, revision=spec.revision)
    if spec.architecture not in (None, config.model_type):
        return spec
    known = AutoConfig.for_model(config.model_type).to_dict()
    shape = {
        key: value
        for key, value in config.to_dict().items()
        if key in known
        and isinstance(value, int | float | str)
        and not key.endswith("_token_id")
        and key not in ("model_type", "transformers_version", "dtype", "_name_or_path")
    }
    return ModelSpec(
        init="scratch",
        checkpoint=spec.checkpoint,
        architecture=config.model_type,
        size={**shape, **spec.size},
    )


def _ensure_padding(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> None:
    """Give models that were trained without padding (GPT-2) a padding token of its own."""
    if tokenizer.pad_token_id is None:
        tokenizer.add_special_tokens({"pad_token": _PAD_TOKEN})
        with quiet_transformers():
            model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
        logging.getLogger(__name__).info("added a padding token to the vocabulary")
    model.config.pad_token_id = tokenizer.pad_token_id


def input_limit(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> int:
    """Return the longest input in tokens, special ones included.

    RoBERTa counts positions from after its padding index, so that it holds fewer tokens than its
    configuration says.
    """
    import torch

    limit = getattr(model.config, "max_position_embeddings", None) or 1_000_000
    for module in model.modules():
        # Position tables are the embeddings with as many rows as there are positions.
        if not isinstance(module, torch.nn.Embedding) or module is model.get_input_embeddings():
            continue
        if module.num_embeddings == limit and module.padding_idx is not None:
            limit -= module.padding_idx + 1
            break
    return min(limit, tokenizer.model_max_length)
