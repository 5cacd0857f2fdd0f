"""A loaded classifier that turns lists of work into few large batches.

Every input reaches the model as embeddings, with exactly the rows asked for: padding is told by
length and never guessed from token ids, so that a text may contain the padding token (as baselines
do), and a result is the same alone and in any batch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from exparity.engine.batching import run_batches
from exparity.engine.encoding import encode_texts
from exparity.errors import ExparityError
from exparity.interface import Encoding, FloatArray, IntArray

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    Build = Callable[[list[int], int], torch.Tensor]

# Padded tokens a batch. On a CPU larger batches leave the cache and are slower; on a GPU smaller
# ones leave it idle. A backward pass keeps every activation, so that it gets a quarter.
_TOKEN_BUDGET = {"cpu": 4096, "cuda": 65536}
GRADIENT_SHARE = 4


class Classifier:
    """A sequence classifier and its tokenizer on one device.

    Args:
        model: a transformers model with a classification head.
        tokenizer: its fast tokenizer.
        device: where it runs.
        max_length: longest input in tokens.
        token_budget: padded tokens per batch; by device if None.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerFast,
        *,
        device: torch.device,
        max_length: int,
        token_budget: int | None = None,
    ) -> None:
        self.model = model.to(device)  # type: ignore[arg-type]
        self.model.eval()
        self.tokenizer = tokenizer
        self.device = device
        self.max_length = max_length
        self.token_budget = token_budget or _TOKEN_BUDGET.get(device.type, 4096)
        self.n_classes = int(model.config.num_labels or 0)
        # transformers names the head of models that pool the last token `score`.
        self.pools_last_token = hasattr(model, "score")

    def encode(self, texts: Sequence[str | Sequence[str]]) -> list[Encoding]:
        """Encode texts or lists of words; see :func:`exparity.engine.encoding.encode_texts`."""
        return encode_texts(self.tokenizer, texts, self.max_length)

    @property
    def pad_id(self) -> int:
        """Token id of padding, or of the end of text in models without one."""
        for value in (self.tokenizer.pad_token_id, self.tokenizer.eos_token_id):
            if value is not None:
                return int(value)
        raise ExparityError("the tokenizer has neither a padding nor an end-of-text token")

    @property
    def empty_ids(self) -> list[int]:
        """Token ids that stand for a text with no token left: start of text, or padding."""
        for value in (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id):
            if value is not None:
                return [int(value)]
        return [self.pad_id]

    def embed(self, token_ids: Sequence[int] | IntArray) -> torch.Tensor:
        """Return the (t, h) input embeddings of token ids, detached, on the device."""
        import torch

        ids = torch.as_tensor(np.asarray(token_ids), dtype=torch.long, device=self.device)
        with torch.no_grad():
            table = self.model.get_input_embeddings()
            rows: torch.Tensor = table(ids)
        return rows

    def probabilities(self, sequences: Sequence[Sequence[int] | IntArray]) -> FloatArray:
        """Return class probabilities of token-id sequences.

        Equal sequences are computed once. An empty one is represented by :attr:`empty_ids`.

        Args:
            sequences: token ids, special tokens included.

        Returns:
            (n, c) float64, rows sum to 1.
        """
        keys = [tuple(int(i) for i in s) or tuple(self.empty_ids) for s in sequences]
        unique = {key: row for row, key in enumerate(dict.fromkeys(keys))}
        ids = list(unique)

        def build(batch: list[int], width: int) -> torch.Tensor:
            rows = [list(ids[i]) + [self.pad_id] * (width - len(ids[i])) for i in batch]
            return self.embed(np.array(rows))

        found = self._forward([len(key) for key in ids], build)
        return found[[unique[key] for key in keys]]

    def probabilities_from_embeddings(self, embeddings: Sequence[torch.Tensor]) -> FloatArray:
        """Return class probabilities of (t, h) embedding matrices.

        Args:
            embeddings: rows of input embeddings, before positions are added.

        Returns:
            (n, c) float64, rows sum to 1.
        """
        return self._forward([len(e) for e in embeddings], padded(embeddings))

    def _forward(self, lengths: Sequence[int], build: Build) -> FloatArray:
        import torch

        result = np.empty((len(lengths), self.n_classes))

        def run(batch: list[int]) -> None:
            sizes = [lengths[i] for i in batch]
            with torch.inference_mode():
                logits = self.logits(build(batch, max(sizes)), sizes)
                result[batch] = logits.softmax(-1).cpu().numpy()

        with self._evaluating():
            self.token_budget = run_batches(lengths, self.token_budget, run)
        return result

    def input_gradients(
        self,
        lengths: Sequence[int],
        build: Build,
        targets: IntArray,
        consume: Callable[[list[int], torch.Tensor], None],
    ) -> None:
        """Differentiate target logits with respect to input embeddings, batch by batch.

        Nothing but one batch is held, so that a caller decides what to keep of it.

        Args:
            lengths: (n,) rows of each input.
            build: makes the (b, width, h) embeddings of the inputs at the given positions; rows
                beyond an input's length are padding.
            targets: (n,) class index of each input.
            consume: receives positions and (b, width, h) gradients; padding rows are zero.
        """
        import torch

        def run(batch: list[int]) -> None:
            sizes = [lengths[i] for i in batch]
            inputs = build(batch, max(sizes)).detach().requires_grad_(True)
            with torch.enable_grad():
                logits = self.logits(inputs, sizes)
                chosen = logits[torch.arange(len(batch)), torch.as_tensor(targets[batch])]
                (gradients,) = torch.autograd.grad(chosen.sum(), inputs)
            mask = self._mask(sizes, gradients.shape[1])
            consume(batch, gradients.masked_fill(~mask[..., None], 0))

        with self._evaluating(), self._frozen():
            budget = max(1, self.token_budget // GRADIENT_SHARE)
            fitted = run_batches(lengths, budget, run)
            if fitted < budget:
                self.token_budget = fitted * GRADIENT_SHARE

    def logits(self, embeddings: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
        """Run the model on one padded batch.

        Args:
            embeddings: (b, width, h), padded at the end.
            lengths: (b,) rows that count.

        Returns:
            (b, c) float32 logits.
        """
        import torch

        mask = self._mask(lengths, embeddings.shape[1])
        if not self.pools_last_token:
            output = self.model(inputs_embeds=embeddings, attention_mask=mask.long())
            return output.logits.float()  # type: ignore[no-any-return]
        # Heads of decoders look for the last token in token ids, which embeddings do not have.
        hidden = self.model.base_model(
            inputs_embeds=embeddings, attention_mask=mask.long(), use_cache=False
        ).last_hidden_state
        last = torch.as_tensor(lengths, device=self.device) - 1
        pooled = hidden[torch.arange(len(lengths), device=self.device), last]
        return self.model.score(pooled).float()  # type: ignore[no-any-return]

    def _mask(self, lengths: Sequence[int], width: int) -> torch.Tensor:
        import torch

        sizes = torch.as_tensor(lengths, device=self.device)
        return torch.arange(width, device=self.device)[None, :] < sizes[:, None]

    @contextlib.contextmanager
    def _evaluating(self) -> Iterator[None]:
        """Run the model in evaluation mode and restore its mode."""
        was_training = self.model.training
        self.model.eval()
        try:
            yield
        finally:
            self.model.train(was_training)

    @contextlib.contextmanager
    def _frozen(self) -> Iterator[None]:
        """Spare the gradients of weights: only those of inputs are asked for."""
        before = [(p, p.requires_grad) for p in self.model.parameters()]
        for parameter, _ in before:
            parameter.requires_grad_(False)
        try:
            yield
        finally:
            for parameter, flag in before:
                parameter.requires_grad_(flag)


def padded(embeddings: Sequence[torch.Tensor]) -> Build:
    """Return a builder of batches that pads (t, h) matrices with zero rows."""

    def build(batch: list[int], width: int) -> torch.Tensor:
        from torch.nn.utils.rnn import pad_sequence

        rows = pad_sequence([embeddings[i] for i in batch], batch_first=True)
        assert rows.shape[1] == width
        return rows

    return build
