"""A classifier that is a function of texts, without weights and without a tokenizer.

The words of a text are its tokens, and the "embedding" of a word is one number, its id. Methods and
metrics mask, remove and pad rows of embeddings, so that they run unchanged: the remaining rows of a
text are joined again, byte for byte, and the function gets the result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from itertools import islice
from threading import RLock
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple, cast
from weakref import WeakKeyDictionary

import numpy as np
import torch

from exparity.core.calls import unmasked
from exparity.core.errors import ExparityError, InputError, reason_of, shown
from exparity.core.undisturbed import one_at_a_time
from exparity.engine.batching import Build
from exparity.engine.classifier import Classifier
from exparity.engine.encoding import parted, single
from exparity.engine.objectives import Outputs
from exparity.models.heads import SEQUENCE, new_head
from exparity.models.inputs import few_of
from exparity.types import Encoding, FloatArray, IntArray, Text, TextLike

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

Predict = Callable[[list[str]], object]
"""From n texts to (n, c) probabilities."""
_NO_WORD = 0  # id of the empty text
_LARGEST_ID = 2**31 - 1  # artefacts hold ids of 32 bits
_NO_LIMIT = 2**31
_TOGETHER = 64
"""Texts of a call."""
_ROWS = 1024  # inputs that are put together at once
_SUM_TOLERANCE = 1e-3  # services round probabilities
_SAME_TOLERANCE = 1e-4  # rounding of float32, in another batch
MOST_ANSWERS = 1 << 20
"""Answers that are remembered between calls, about 0.3 GB; the oldest are forgotten."""
LEAST_PROBABILITY = float(np.finfo(np.float32).eps)
"""Smallest probability whose logarithm is taken; smaller ones count as this."""
_LOCKS: WeakKeyDictionary[BlackBox, RLock] = WeakKeyDictionary()
_ROLES = ("pad", "unk", "cls", "sep", "bos", "eos", "mask")


class Piece(NamedTuple):
    """A word with the characters around it; the pieces of a text make up the text.

    Attributes:
        opens: whether the text begins with it.
        blanks: blanks before it; kept only after another word, or where it opens the text.
        body: the word, with other characters between it and its neighbours.
    """

    opens: bool
    blanks: str
    body: str


def pieces_of(text: Text) -> dict[int, Piece]:
    """Return the pieces of a text by the index of their word, each with what precedes the word."""
    words = [word for word, (start, end) in enumerate(text.spans) if text.string[start:end].strip()]
    pieces = {}
    start = 0
    for word in words:
        end = len(text.string) if word == words[-1] else text.spans[word][1]
        body = text.string[start:end].lstrip()
        pieces[word] = Piece(not start, text.string[start : end - len(body)], body)
        start = end
    return pieces


def _keys(texts: Sequence[str]) -> list[bytes]:
    """Return digests of texts, since texts would fill the memory."""
    encoded = (text.encode("utf-8", "surrogatepass") for text in texts)
    return [blake2b(text, digest_size=16).digest() for text in encoded]


class BlackBox(Classifier):
    """A function of texts with named classes; see :func:`exparity.load_classifier`.

    Attributes:
        calls: texts that the function was asked about so far.
    """

    is_black_box = True

    def __init__(
        self,
        predict: Predict,
        classes: Sequence[str],
        *,
        mask: str | None = None,
        max_calls: int | None = None,
    ) -> None:
        # Without the state of a classifier with a model.
        self.class_names = tuple(classes)
        self.device = torch.device("cpu")
        self.head = new_head(SEQUENCE)
        self.head.absent_id = _NO_WORD
        names = [f"{role}_token{part}" for role in _ROLES for part in ("", "_id")]
        no_tokenizer = SimpleNamespace(model_input_names=(), **dict.fromkeys(names))
        self.tokenizer = cast("PreTrainedTokenizerFast", no_tokenizer)
        self.max_length = _NO_LIMIT
        self.refusals = Counter[str]()
        self.calls = 0
        self._predict, self._mask, self._max_calls = predict, mask, max_calls
        self._ids: dict[Piece, int] = {}
        self._pieces: dict[int, Piece] = {}
        self._answers: dict[bytes, FloatArray] = {}

    def __getattr__(self, name: str) -> object:
        if name in ("model", "token_budget", "layers"):
            raise InputError(
                "the classifier is a function of texts, and has no weights, gradients or embeddings"
            )
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @property
    def name(self) -> str:
        """Name of the function."""
        return str(getattr(self._predict, "__qualname__", type(self._predict).__name__))

    @property
    def lock(self) -> RLock:
        """A lock of its own: a function may ask a model, also in threads of its own."""
        return _LOCKS.setdefault(self, RLock())

    @property
    def classes_are_exclusive(self) -> bool:
        """Whether a text has one of the classes: the probabilities of a function add up to 1."""
        return True

    @property
    def vocabulary_size(self) -> int:
        """One more than the largest id of a word."""
        return _LARGEST_ID + 1

    @one_at_a_time
    def encode(self, texts: Sequence[TextLike]) -> list[Encoding]:
        """Return texts as words, separated by blanks unless an :class:`exparity.Text` differs."""
        encodings = []
        for position, text in enumerate(single(parted(texts), "function")):
            pieces = pieces_of(text)
            if not pieces:
                raise InputError(f"text {position}: is empty; there is nothing to explain")
            encodings.append(
                Encoding(
                    text=text.string,
                    token_ids=np.array([self._id_of(piece) for piece in pieces.values()]),
                    tokens=tuple(text.words[word] for word in pieces),
                    word_ids=np.array(list(pieces), dtype=np.int64),
                    special_mask=np.zeros(len(pieces), dtype=bool),
                    offsets=np.array([text.spans[word] for word in pieces], dtype=np.int64),
                    written=text,
                )
            )
        return encodings

    def _id_of(self, piece: Piece) -> int:
        """Return the id of a piece: by its digest, so that it is the same in every process."""
        piece_id = self._ids.get(piece)
        if piece_id is None:
            digest = blake2b(repr(tuple(piece)).encode(), digest_size=8).digest()
            piece_id = 1 + int.from_bytes(digest, "big") % _LARGEST_ID
            while piece_id in self._pieces:  # of another piece, once in billions
                piece_id = 1 + piece_id % _LARGEST_ID
            self._ids[piece], self._pieces[piece_id] = piece_id, piece
        return piece_id

    def text_of(self, ids: Iterable[int]) -> str:
        """Return the text of the remaining words; the mask replaces words with negative ids."""
        text = ""
        for piece_id in ids:
            if piece_id == _NO_WORD or (piece_id < 0 and self._mask is None):
                continue
            if abs(piece_id) not in self._pieces:
                raise InputError(
                    "the classifier is a function of texts: words can be left out or masked, but "
                    "not moved"
                )
            opens, blanks, body = self._pieces[abs(piece_id)]
            text += (blanks if text or opens else "") + (body if piece_id > 0 else str(self._mask))
        return text

    def embed(self, token_ids: Sequence[int] | IntArray) -> torch.Tensor:
        """Return the (t, 1) float64 ids of words."""
        return torch.tensor(np.asarray(token_ids), dtype=torch.float64)[:, None]

    def in_place_of(self, token_ids: IntArray, new: IntArray | int) -> IntArray:
        """Return the ids of words that are masked."""
        return -np.abs(token_ids)

    @one_at_a_time
    def outputs(self, sequences: Sequence[Sequence[int] | IntArray]) -> Outputs:
        """Return the outputs for texts of these words."""
        return self._asked([self.text_of(map(int, ids)) for ids in sequences])

    @one_at_a_time
    def outputs_of(self, lengths: Sequence[int], build: Build) -> Outputs:
        """Return the outputs for texts that are built batch by batch, as rows of ids."""
        texts = []
        for first in range(0, len(lengths), _ROWS):
            batch = list(range(first, min(first + _ROWS, len(lengths))))
            rows = build(batch, max(lengths[place] for place in batch))[..., 0].tolist()
            for place, ids in zip(batch, rows, strict=True):
                texts.append(self.text_of(map(int, ids[: lengths[place]])))
        return self._asked(texts)

    @one_at_a_time
    def check_answers(self, sequences: Sequence[IntArray]) -> None:
        """Ask about a few texts in one call and each alone, and compare; once for a classifier.

        A single text gets company: an answer may depend on what else is in its call.
        """
        if self.is_compared or not sequences:
            return
        few = [sequences[place] for place in few_of(list(map(len, sequences)))]
        texts = [*dict.fromkeys(self.text_of(map(int, ids)) for ids in few)]
        company = [] if len(texts) > 1 else [self._another(few[0])]
        self._spend(len(texts) + len(company))
        together = self._answer([*texts, *company])
        self._remember([*texts, *company], together)
        for text, first in zip(texts, together[: len(texts)], strict=True):
            self._spend(1)
            gap = float(np.abs(self._answer([text])[0] - first).max())
            if not gap <= _SAME_TOLERANCE:
                raise ExparityError(
                    f"predict gives other probabilities for {shown(text)} when it is called with "
                    f"this text alone (by {gap:.2g}); make it answer each text by itself and "
                    "without chance"
                )
        self.is_compared = True

    def _another(self, ids: IntArray) -> str:
        """Return another text: without its last word, or a single word twice."""
        text = self.text_of(map(int, ids))
        return self.text_of(map(int, [*ids[:-1], -ids[-1]])) or f"{text} {text}"

    def forget(self) -> None:
        """Drop the answers so far, as a job does once a part of its texts is done."""
        self._answers.clear()

    def _asked(self, texts: Sequence[str]) -> Outputs:
        """Return the outputs for texts; the function is asked about each once."""
        keys = _keys(texts)
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._answers}
        self._spend(len(new))
        waiting = list(new.values())
        for first in range(0, len(waiting), _TOGETHER):
            part = waiting[first : first + _TOGETHER]
            self._remember(part, self._answer(part))
        probabilities = np.array([self._answers[key] for key in keys]).reshape(-1, self.n_classes)
        for key in list(islice(self._answers, max(0, len(self._answers) - MOST_ANSWERS))):
            del self._answers[key]  # the oldest
        return Outputs(probabilities, np.log(np.clip(probabilities, LEAST_PROBABILITY, None)))

    def _remember(self, texts: Sequence[str], answers: FloatArray) -> None:
        self._answers.update(zip(_keys(texts), answers, strict=True))

    def _spend(self, calls: int) -> None:
        """Count texts before they are sent; refuse more than the budget allows."""
        needed = self.calls + calls
        if self._max_calls is not None and needed > self._max_calls:
            raise InputError(
                f"max_calls {self._max_calls}: this needs {needed} texts or more, and "
                f"{self.calls} were sent; raise it, take fewer texts, or have methods ask less"
            )
        self.calls = needed

    def _answer(self, texts: list[str]) -> FloatArray:
        """Call the function, check its answer, and return it as (n, c) float64."""
        try:
            answer = self._predict(list(texts))
        except ExparityError:
            raise
        except Exception as error:  # whatever a user's function raises
            what = f"{type(error).__name__}: {reason_of(error)}"
            raise ExparityError(f"predict fails: {what}") from error
        if isinstance(answer, torch.Tensor):
            answer = answer.detach().double().cpu().numpy()
        try:
            rows = np.array(unmasked(answer), dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"predict must return numbers, not {shown(answer)}") from None
        if rows.shape != (len(texts), self.n_classes):
            raise InputError(
                f"predict returns an array of shape {rows.shape} for {len(texts)} texts; it must "
                f"be ({len(texts)}, {self.n_classes}), a column for each class "
                f"({', '.join(self.class_names)})"
            )
        sums = rows.sum(axis=1)
        good = (np.abs(sums - 1) <= _SUM_TOLERANCE) & (rows >= -_SUM_TOLERANCE).all(axis=1)
        if not good.all():  # nor is anything that is not finite
            bad = int(np.argmin(good))
            raise InputError(
                f"predict returns {rows[bad].tolist()} for {shown(texts[bad])}; a row must be "
                "probabilities that sum to 1. Of several labels take one: [1 - p, p]"
            )
        return np.clip(rows, 0.0, 1.0)
