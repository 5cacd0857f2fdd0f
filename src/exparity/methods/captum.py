"""Any attribution algorithm of the captum library (Kokhlikyan et al. 2020), by its class name."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from exparity.core.errors import InputError, did_you_mean, reason_of
from exparity.methods import MethodBatch, method
from exparity.methods._gradients import baseline_rows
from exparity.types import FloatArray

if TYPE_CHECKING:
    import torch

Algorithm = Literal[
    "FeatureAblation",
    "GradientShap",
    "InputXGradient",
    "IntegratedGradients",
    "KernelShap",
    "Lime",
    "Occlusion",
    "Saliency",
    "ShapleyValueSampling",
    "ShapleyValues",
]
_OURS = ("inputs", "target", "feature_mask", "sliding_window_shapes", "additional_forward_args")


@method(
    "captum",
    signed=True,
    needs_gradient=True,
    target="logit",
    baseline="special tokens kept, padding elsewhere",
    stochastic=True,
    reference="Kokhlikyan et al. 2020, arXiv:2009.07896",
    display="captum",
    passes=100,
)
def captum(
    batch: MethodBatch,
    *,
    algorithm: Algorithm = "IntegratedGradients",
    options: Mapping[str, Any] = {},
) -> list[FloatArray]:
    """Scores by an attribution class of captum on the embeddings of one text after the other.

    Those that leave features out take each token as one feature. Of the gradient that ``Saliency``
    gives the L1 norm is taken over the embedding, and what the others give is summed. Where captum
    wants a baseline, it is that of ``integrated_gradients`` unless ``options`` say otherwise.

    Args:
        batch: the texts.
        algorithm: class of ``captum.attr``.
        options: of the class or of its ``attribute``, such as ``n_steps``,
            ``n_samples`` or ``baselines``.

    Returns:
        (t,) scores for each text, in logits unless the algorithm has another unit.

    Raises:
        InputError: an option that the algorithm does not have, or that captum refuses.
    """
    import captum.attr

    made = getattr(captum.attr, algorithm)
    own = [
        *list(inspect.signature(made).parameters)[1:],
        *inspect.signature(made.attribute).parameters,
    ]
    known = {name for name in own if name not in ("self", *_OURS)}
    for name in options:
        if name not in known:
            raise InputError(
                f"method captum.options: {algorithm} has no '{name}'; {did_you_mean(name, known)}"
            )
    wrapped = _on_rows(batch)
    scores = []
    for row, (rows, absent) in enumerate(zip(batch.rows, baseline_rows(batch), strict=True)):
        words, absent_words = (
            batch.classifier.without_types(own, batch.token_ids[row]) for own in (rows, absent)
        )
        wrapped.types, wrapped.target = rows - words, int(batch.targets[row])
        with _drawing(batch.generator(row), rows.device):
            try:
                scores.append(_attributed(made, wrapped, words, absent_words, dict(options)))
            except (AssertionError, TypeError, ValueError, RuntimeError, KeyError) as error:
                raise InputError(f"method captum: {algorithm}: {reason_of(error)}") from error
    return scores


def _attributed(
    made: Any, wrapped: Any, rows: torch.Tensor, absent: torch.Tensor, options: dict[str, Any]
) -> FloatArray:
    """Return the (t,) scores of one text by an algorithm of captum."""
    import torch

    of_class = set(inspect.signature(made).parameters)
    parameters = inspect.signature(made.attribute).parameters
    settings = {name: options.pop(name) for name in of_class & options.keys()}
    width, size = rows.shape
    per_token = "feature_mask" in parameters or "sliding_window_shapes" in parameters
    if "feature_mask" in parameters:
        tokens = torch.arange(width, device=rows.device)
        mask = tokens[None, :, None].expand(1, width, size)
        options["feature_mask"] = mask.contiguous()  # some algorithms take a view of it
    if "sliding_window_shapes" in parameters:
        options["sliding_window_shapes"] = (1, size)
    if "baselines" in parameters:
        options.setdefault("baselines", absent[None])
    inputs = rows[None].clone().requires_grad_(not per_token)
    values = made(wrapped, **settings).attribute(inputs, **options)
    of_elements = values.detach().double()[0]  # (t, h)
    if per_token:
        of_tokens = of_elements[:, 0]
    elif made.__name__ == "Saliency":
        of_tokens = of_elements.abs().sum(-1)
    else:
        of_tokens = of_elements.sum(-1)
    scores: FloatArray = of_tokens.cpu().numpy()
    return scores


def _on_rows(batch: MethodBatch) -> Any:
    """Return a module from (b, t, h) embeddings to what is explained."""
    import torch

    from exparity.models.lookup import EmbeddedBatch

    classifier = batch.classifier

    class OnRows(torch.nn.Module):
        """The model on embedded rows of one text, with its target and embeddings of token types."""

        types, target = torch.zeros(()), 0

        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            last = torch.full((len(rows),), rows.shape[1] - 1, device=rows.device)
            batch_of_rows = EmbeddedBatch(rows + self.types, None, last)
            logits = classifier.head.logits(classifier.model, batch_of_rows)
            targets = torch.full((len(rows),), self.target, device=rows.device)
            return batch.objective(logits.float(), targets)

    return OnRows()


@contextmanager
def _drawing(rng: np.random.Generator, device: torch.device) -> Iterator[None]:
    """Seed the generators that captum draws from, torch's and numpy's global ones, and restore."""
    import torch

    state = np.random.get_state()  # noqa: NPY002  captum draws from it
    seed = int(rng.integers(2**31))
    with (
        torch.random.fork_rng([device] if device.type == "cuda" else []),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # captum tells of its hooks
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        try:
            yield
        finally:
            np.random.set_state(state)  # noqa: NPY002
