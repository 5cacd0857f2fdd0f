"""Logits: objectives of gradients, from (b, c) logits and (b,) targets to (b,) numbers; outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch.nn import functional as F

from exparity.core.errors import require_known
from exparity.models.class_names import class_index
from exparity.types import FloatArray, IntArray

Objective = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class Outputs(NamedTuple):
    """Outputs of the model for n inputs.

    Attributes:
        probabilities: (n, c) float64, rows sum to 1.
        logits: (n, c) float64 of float32 logits.
    """

    probabilities: FloatArray
    logits: FloatArray

    def of_targets(self, targets: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return (n,) probability and log odds, z_y − log Σ_{c≠y} exp z_c, of a class of each."""
        from scipy.special import logsumexp

        rows = np.arange(len(targets))
        others = self.logits.copy()
        others[rows, targets] = -np.inf
        odds = self.logits[rows, targets] - logsumexp(others, axis=1)
        return self.probabilities[rows, targets], np.asarray(odds)

    def contrasts(self, targets: IntArray, *, exclusive: bool) -> FloatArray:
        """Return (n,) the logit of a class of each less the mean of the others', or alone.

        It is linear in the logits, so that a temperature multiplies every difference of two, and
        with two classes it is the log odds. Classes that are not ``exclusive`` have no others.
        """
        chosen = self.logits[np.arange(len(targets)), targets]
        if not exclusive:
            return np.asarray(chosen)
        others = (self.logits.sum(axis=1) - chosen) / (self.logits.shape[1] - 1)
        return np.asarray(chosen - others)


def target_logit(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the (b,) logit of each target class."""
    return logits.gather(1, targets[:, None])[:, 0]


def log_odds(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the (b,) log odds of each target class: z_y − log Σ_{c≠y} exp z_c."""
    others = logits.scatter(1, targets[:, None], -float("inf"))
    return target_logit(logits, targets) - others.logsumexp(1)


def difference(logits: torch.Tensor, targets: torch.Tensor, *, foil: int) -> torch.Tensor:
    """Return the (b,) logit of each target less that of the foil; log odds of the foil itself."""
    against = target_logit(logits, targets) - logits[:, foil]
    return against.where(targets != foil, log_odds(logits, targets))


def prediction_loss(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the (b,) cross entropy of targets, in float64: a certain one has a gradient then."""
    return F.cross_entropy(logits.double(), targets, reduction="none")


_OF_TARGET: Mapping[str, Objective] = {"logit": target_logit, "log_odds": log_odds}


def objective_of(
    explains: str | Mapping[Literal["against"], str],
    class_names: Sequence[str],
    *,
    in_words: bool,
) -> Objective:
    """Return the function that ``explains`` names; ``in_words`` is for prompted models.

    Raises:
        InputError: there is no such function or class.
    """
    if isinstance(explains, Mapping):
        foil = explains["against"]
        index = class_index(foil, class_names, f"explains: against '{foil}'")
        return partial(difference, foil=index)
    if explains == "auto":
        # One number added to all words' logits would change no answer, but every logit.
        explains = "log_odds" if in_words else "logit"
    require_known(explains, _OF_TARGET, f"explains: unknown '{explains}'")
    return _OF_TARGET[explains]
