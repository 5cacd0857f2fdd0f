"""Tokens of a classifier and their input embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from threading import RLock
from typing import TYPE_CHECKING

import numpy as np
import torch

from exparity.core.errors import ExparityError
from exparity.core.undisturbed import MODELS, one_at_a_time
from exparity.engine.encoding import encode_texts
from exparity.models.heads import Head
from exparity.models.lookup import n_rows
from exparity.types import Encoding, IntArray, TextLike

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast


class TokenEmbeddings:
    """Texts as tokens, and tokens as rows of a model's table of input embeddings."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    head: Head
    device: torch.device
    max_length: int
    _types: torch.Tensor | None = None

    @property
    def lock(self) -> RLock:
        """State of a thread while it runs models."""
        return MODELS

    @one_at_a_time
    def encode(self, texts: Sequence[TextLike]) -> list[Encoding]:
        """Encode texts or lists of words; see :func:`exparity.engine.encoding.encode_texts`.

        Args:
            texts: strings, lists of words, :class:`exparity.Text` or pairs of these.

        Returns:
            An encoding for each text, in order.

        Raises:
            InputError: a text is missing, empty or no text, or too few of its words are known to
                the tokenizer.

        Examples:
            >>> from exparity import load_classifier
            >>> classifier = load_classifier("model")
            >>> (encoding,) = classifier.encode(["she is"])
            >>> encoding.tokens
            ('[CLS]', 'she', 'is', '[SEP]')
        """
        stride = 0 if self._types is None else self.vocabulary_size
        return encode_texts(self.tokenizer, texts, self.max_length, stride, self.head.prompt)

    @property
    def vocabulary_size(self) -> int:
        """Rows of the table of input embeddings."""
        return n_rows(self.model.get_input_embeddings())

    @property
    def n_types(self) -> int:
        """Types of tokens that tell the texts of a pair apart; 1 where the model has none."""
        return 1 if self._types is None else len(self._types)

    @property
    def pad_id(self) -> int:
        """Token id of padding, or of the end of text in models without one."""
        token_id = self.head.absent_id
        if token_id is None:
            token_id = self._token_id("pad", "eos")
        if token_id is None:
            raise ExparityError("the tokenizer has neither a padding nor an end-of-text token")
        return token_id

    @property
    def empty_ids(self) -> list[int]:
        """Token ids that stand for a text with no token left: start of text, or padding."""
        token_id = self._token_id("bos", "eos")
        return [self.pad_id if token_id is None else token_id]

    @property
    def mask_id(self) -> int:
        """Token id of an absent token: the mask token, or else the unknown one, or padding."""
        token_id = self._token_id("mask", "unk")
        return self.pad_id if token_id is None or self.head.absent_id is not None else token_id

    def _token_id(self, *roles: str) -> int | None:
        ids = (getattr(self.tokenizer, f"{role}_token_id") for role in roles)
        return next((int(token_id) for token_id in ids if token_id is not None), None)

    @one_at_a_time
    def embed(self, token_ids: Sequence[int] | IntArray) -> torch.Tensor:
        """Return the (t, h) input embeddings of token ids, detached, with what their type adds.

        Args:
            token_ids: (t,) ids as encodings have them.

        Examples:
            >>> from exparity import load_classifier
            >>> classifier = load_classifier("model")
            >>> (encoding,) = classifier.encode(["she is"])
            >>> tuple(classifier.embed(encoding.token_ids).shape)  # (t, h)
            (4, 32)
        """
        ids, types = self.split_types(token_ids)
        with torch.no_grad():
            table = self.model.get_input_embeddings()
            # A copy: torch has no arrays that cannot be written to.
            looked_up = table(torch.tensor(ids, dtype=torch.long, device=self.device))
            rows: torch.Tensor = looked_up[0] if isinstance(looked_up, tuple) else looked_up
            rows = rows.detach()  # a hook of a training may ask for gradients of them
            added = self._added(types)
        return rows if added is None else rows + added

    def split_types(self, token_ids: Sequence[int] | IntArray) -> tuple[IntArray, IntArray]:
        """Return vocabulary indices and token types of token ids; see :class:`Encoding`.

        Args:
            token_ids: (t,) ids as encodings have them.

        Returns:
            (t,) indices below ``vocabulary_size``, and (t,) types from 0.

        Examples:
            >>> from exparity import load_classifier
            >>> classifier = load_classifier("model")
            >>> indices, types = classifier.split_types([2, 7, 3])
            >>> indices.tolist(), types.tolist()  # this model has a type for each text of a pair
            ([2, 7, 3], [0, 0, 0])
        """
        ids = np.asarray(token_ids)
        if self._types is None:
            return ids, np.zeros_like(ids)
        types, indices = np.divmod(ids, self.vocabulary_size)
        return indices, types

    def in_place_of(self, token_ids: IntArray, new: IntArray | int) -> IntArray:
        """Return vocabulary indices as ids with the types of the tokens that they replace.

        Args:
            token_ids: (t,) ids of the tokens that are replaced.
            new: (t,) vocabulary indices, or one for all.

        Examples:
            >>> from exparity import load_classifier
            >>> classifier = load_classifier("model")
            >>> (encoding,) = classifier.encode(["she is"])
            >>> masked = classifier.in_place_of(encoding.token_ids, classifier.mask_id)
            >>> set(masked.tolist()) == {classifier.mask_id}
            True
        """
        _, types = self.split_types(token_ids)
        return np.asarray(new + types * self.vocabulary_size)

    @one_at_a_time
    def without_types(self, rows: torch.Tensor, token_ids: IntArray) -> torch.Tensor:
        """Return (t, h) embeddings of tokens, or moved ones, without what token types add.

        Args:
            rows: (t, h) embeddings.
            token_ids: (t,) their ids.

        Examples:
            >>> from exparity import load_classifier
            >>> classifier = load_classifier("model")
            >>> (encoding,) = classifier.encode(["she is"])
            >>> rows = classifier.embed(encoding.token_ids)
            >>> untyped = classifier.without_types(rows, encoding.token_ids)
            >>> (untyped == rows).all().item()  # a single text has tokens of the first type only
            True
        """
        added = self._added(self.split_types(token_ids)[1])
        return rows if added is None else rows - added

    def _added(self, types: IntArray) -> torch.Tensor | None:
        """Return the sum that token types add to embeddings; None if all are of the first type."""
        if self._types is None or not types.any():
            return None
        steps = (self._types - self._types[0]).detach()
        return steps[torch.tensor(types, dtype=torch.long, device=self.device)]
