"""Explanations, made by exparity or from scores of any origin, and how notebooks show them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from exparity.core.calls import array_of, checked_value, listed
from exparity.core.errors import InputError, shown
from exparity.explanations import alignment
from exparity.explanations.markup import notebook_html, token_texts
from exparity.explanations.named_words import Answer
from exparity.explanations.units import Unit, Units, units_of
from exparity.types import (
    FRAME_WORD,
    SPECIAL_WORD,
    BoolArray,
    Encoding,
    FloatArray,
    IntArray,
    Origin,
    Parts,
    Text,
    TextLike,
    is_pair,
)

if TYPE_CHECKING:
    import pandas as pd


class Encoder(Protocol):
    """Object with a tokenizer, such as :class:`exparity.Classifier`."""

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes, by index."""

    def class_index(self, target: int | str) -> int:
        """Return the index of a class from its index or name."""

    def encode(self, texts: Sequence[TextLike]) -> list[Encoding]:
        """Return texts as the model sees them."""


class Facts(TypedDict, total=False):
    """Further fields of an explanation, whose tokens come from an encoding."""

    rationale: Sequence[int] | BoolArray | None
    changed_words: Sequence[int] | BoolArray | None
    answer: Answer | None


class FactsAndOrigin(Facts, total=False):
    """Further fields of an explanation that another library made."""

    origin: Origin | None


class ShapRow(Protocol):
    """A row of a ``shap.Explanation`` of texts: pieces of a text and their values."""

    data: Iterable[object]
    values: ArrayLike


_COLUMNS: dict[str, type] = {
    "scores": float, "special_mask": bool, "word_ids": int, "token_ids": int
}  # fmt: skip

_COUNTED = re.compile(r"(?:Output |LABEL_|class )?(\d+)")
"""Names of outputs that say no more than their number."""
_OF_ENCODING = ("text", "token_ids", "tokens", "special_mask", "word_ids", "pair", "written")


@dataclass(frozen=True, eq=False)
class Explanation:
    """One attribution score per token of one text, for one target class.

    Build it from scores of any origin with :meth:`from_words`, :meth:`from_tokens`,
    :meth:`from_captum` or :meth:`from_shap`; or by hand. Token ids are needed only by metrics that
    run the model.

    Attributes:
        text: the text.
        target: class index that the scores explain.
        token_ids: (t,) as in :class:`Encoding`, or None if the scores come from elsewhere.
        tokens: (t,) token strings.
        scores: (t,) raw, signed attributions, in the unit of their method.
        special_mask: (t,) True for special tokens; if None, tokens with a word index below 0.
            Without both, :func:`exparity.evaluate` takes those of the classifier's tokenizer, and
            without a classifier none.
        word_ids: (t,) word index per token, −1 for special tokens, −2 for those of a prompt; one
            word a token if None.
        origin: method, options and seed that made it; None if it was built by hand.
        rationale: (w,) 0/1 per word of the text, 1 where the word carries the label; None where
            unknown. Words that no token belongs to, as the text was cut, count as well.
        changed_words: (w,) 0/1 per word of the text, 1 where a counterfactual of another group has
            another word; None where unknown.
        pair: both texts of a pair, whose words are numbered on; None of one text.
        target_name: name of the class, for people; None where unknown.
        written: the text with its words, or both of a pair; words that blanks part if None.
        answer: what the model wrote, of methods that have it explain itself; None of others.

    Raises:
        InputError: the lengths disagree, there is no token, or the rationale or the changed words
            do not fit.

    Examples:
        >>> from exparity import Explanation
        >>> explanation = Explanation("so kind", target=1, tokens=["so", "kind"], scores=[0.1, 0.9])
        >>> explanation
        <Explanation by hand, target 1, 2 tokens: kind +0.9, so +0.1, …>
        >>> len(explanation)
        2
    """

    text: str
    target: int
    token_ids: IntArray | None = None
    tokens: Sequence[str] = ()
    scores: FloatArray = field(default_factory=lambda: np.zeros(0))
    special_mask: BoolArray | None = None
    word_ids: IntArray | None = None
    origin: Origin | None = None
    rationale: Sequence[int] | BoolArray | None = None
    changed_words: Sequence[int] | BoolArray | None = None
    pair: tuple[str, str] | None = None
    target_name: str | None = None
    written: Parts | None = None
    answer: Answer | None = None

    def __post_init__(self) -> None:
        where = f"explanation of {checked_value(self.text, str, 'text')!r}: "
        if not isinstance(self.origin, Origin | None):
            raise InputError(f"{where}origin must be what exparity.explain wrote, or None")
        if not (self.pair is None or is_pair(self.pair)):
            raise InputError(f"{where}pair must be a tuple of two texts, not {shown(self.pair)}")
        columns: dict[str, Any] = {
            name: array_of(kind, value, f"{where}{name}")
            for name, kind in _COLUMNS.items()
            if (value := getattr(self, name)) is not None
        }
        size = columns["scores"].size
        special = columns.get("special_mask")
        if not size:
            raise InputError(f"{where}scores must be a non-empty list of numbers, one a token")
        if "word_ids" not in columns:
            content = np.ones(size, bool) if special is None else ~special
            columns["word_ids"] = np.where(content, np.cumsum(content) - 1, SPECIAL_WORD)
        words = columns["word_ids"]
        if (words < FRAME_WORD).any():
            raise InputError(
                f"{where}word_ids must be word numbers, -1 for special tokens, or -2 for those of "
                "a prompt"
            )
        if special is None and (words < 0).any():
            columns["special_mask"] = words < 0
        columns["tokens"] = tuple(
            token if type(token) is str else checked_value(token, str, f"{where}token")
            for token in listed(self.tokens, "tokens", "text")
        )
        for name, value in columns.items():
            if len(value) != size:
                raise InputError(
                    f"{where}{len(value)} {name} but {size} scores; give one of each per token"
                )
        columns["target"] = checked_value(self.target, int, f"{where}target")
        for name in ("rationale", "changed_words"):
            if getattr(self, name) is not None:
                columns[name] = array_of(bool, getattr(self, name), f"{where}{name}")
                if len(columns[name]) < words.max() + 1:
                    raise InputError(
                        f"{where}its tokens are of {words.max() + 1} words, but the {name} has "
                        f"{len(columns[name])} marks; give one per word, and word_ids where words "
                        "have several tokens"
                    )
        for name, value in columns.items():
            object.__setattr__(self, name, value)  # frozen: normalised once, here

    def __len__(self) -> int:
        return len(self.scores)

    @classmethod
    def of_encoding(
        cls,
        classifier: Encoder,
        encoding: Encoding,
        target: int | str,
        scores: FloatArray,
        origin: Origin | None = None,
        **facts: Unpack[Facts],
    ) -> Explanation:
        """Build an explanation from (t,) scores of the tokens of an encoded text.

        Args:
            classifier: its class names give the target.
            encoding: of the text, by :meth:`exparity.Classifier.encode`.
            target: index or name of the class that the scores explain.
            scores: (t,) one for each token, special tokens included.
            origin: method, options and seed that made them.
            **facts: ``rationale``, ``changed_words`` or ``answer``.

        Raises:
            InputError: another number of scores than of tokens, or no such class.

        Examples:
            >>> from exparity import Explanation, load_classifier
            >>> classifier = load_classifier("model")
            >>> (encoding,) = classifier.encode(["she is tired"])
            >>> scores = range(len(encoding))
            >>> Explanation.of_encoding(classifier, encoding, "male", scores).target
            1
        """
        index = classifier.class_index(target)
        return cls(
            target=index,
            target_name=classifier.class_names[index],
            scores=scores,
            origin=origin,
            **{name: getattr(encoding, name) for name in _OF_ENCODING},
            **facts,
        )

    @classmethod
    def from_words(
        cls,
        classifier: Encoder,
        text: TextLike,
        scores: Sequence[float] | FloatArray,
        target: int | str,
        **facts: Unpack[FactsAndOrigin],
    ) -> Explanation:
        """Build an explanation from one score for each word, shared evenly by its tokens.

        Args:
            classifier: its tokenizer gives tokens, ids and special tokens.
            text: the text, or its words; a tuple of two for a pair.
            scores: (w,) one for each word.
            target: index or name of the class that the scores explain.
            **facts: ``rationale`` or ``origin``.

        Raises:
            InputError: another number of scores than of words, or no such class.

        Examples:
            >>> from exparity import Explanation, load_classifier
            >>> classifier = load_classifier("model")
            >>> explanation = Explanation.from_words(classifier, "she is", [0.8, 0.2], "female")
            >>> explanation.to_frame().groupby("word").score.sum().round(2).tolist()
            [0.0, 0.8, 0.2]
        """
        (encoding,) = classifier.encode([text])
        token_scores = alignment.of_words(encoding, array_of(float, scores, "scores"))
        return cls.of_encoding(classifier, encoding, target, token_scores, **facts)

    @classmethod
    def from_tokens(
        cls,
        classifier: Encoder,
        text: TextLike,
        tokens: Sequence[str],
        scores: Sequence[float] | FloatArray,
        target: int | str,
        **facts: Unpack[FactsAndOrigin],
    ) -> Explanation:
        """Build an explanation from tokens of the model's tokenizer and their scores.

        The classifier's tokenizer must cut the text into the same tokens.

        Args:
            classifier: see :meth:`from_words`, as for ``text``, ``target`` and ``facts``.
            text: the text.
            tokens: with or without the tokenizer's marks; with all special tokens or with none.
            scores: one for each token.
            target: the class.
            **facts: others.

        Raises:
            InputError: other tokens than those of the tokenizer, or no such class.

        Examples:
            >>> from exparity import Explanation, load_classifier
            >>> classifier = load_classifier("model")
            >>> tokens = ["[CLS]", "she", "is", "[SEP]"]
            >>> scores = [0.0, 0.8, 0.2, 0.0]
            >>> Explanation.from_tokens(classifier, "she is", tokens, scores, "female").tokens
            ('[CLS]', 'she', 'is', '[SEP]')
        """
        (encoding,) = classifier.encode([text])
        named = [checked_value(token, str, "token") for token in listed(tokens, "tokens", "text")]
        token_scores = alignment.of_tokens(encoding, named, array_of(float, scores, "scores"))
        return cls.of_encoding(classifier, encoding, target, token_scores, **facts)

    @classmethod
    def from_captum(
        cls,
        classifier: Encoder,
        text: TextLike,
        attributions: object,
        target: int | str,
        **facts: Unpack[FactsAndOrigin],
    ) -> Explanation:
        """Build an explanation from what a captum method returned for one text.

        Args:
            classifier: see :meth:`from_words`, as for ``text``, ``target`` and ``facts``.
            text: the text.
            attributions: (t,) or (1, t) of tokens; or (t, h) or (1, t, h) of embeddings, which are
                summed over h. Special tokens included, padding not.
            target: the class.
            **facts: others.

        Raises:
            InputError: another shape, another number of tokens than the text has, or no such class.

        Examples:
            >>> import torch
            >>> from exparity import Explanation, load_classifier
            >>> classifier = load_classifier("model")
            >>> attributions = torch.tensor([[0.0, 0.5, 0.25, 0.0]])  # of [CLS] she is [SEP]
            >>> explanation = Explanation.from_captum(classifier, "she is", attributions, "female")
            >>> explanation.scores.tolist()
            [0.0, 0.5, 0.25, 0.0]
        """
        values = attributions.detach().cpu() if hasattr(attributions, "detach") else attributions
        array = np.asarray(values, dtype=np.float64)
        (encoding,) = classifier.encode([text])
        size = len(encoding)
        shape = array.shape
        if array.ndim and array.shape[0] == 1 and (array.ndim == 3 or array.shape != (size,)):
            array = array[0]
        if array.ndim == 2:
            array = array.sum(axis=1)
        if array.shape != (size,):
            raise InputError(
                f"explanation of {encoding.text!r}: attributions of shape "
                f"{shape}, and the text has {size} tokens; give (tokens,) or (tokens, "
                "embedding), of one text without padding"
            )
        return cls.of_encoding(classifier, encoding, target, array, **facts)

    @classmethod
    def from_shap(
        cls,
        classifier: Encoder,
        explained: ShapRow,
        target: int,
        **facts: Unpack[FactsAndOrigin],
    ) -> Explanation:
        """Build an explanation from one row of a ``shap.Explanation`` of texts.

        Args:
            classifier: see :meth:`from_words`, as for ``facts``.
            explained: one text, as ``explainer(texts)[0]``: its pieces as ``data``, and ``values``
                of pieces, or of pieces and classes.
            target: index or name of the class. Of several columns its own is taken, by the
                ``output_names`` that shap has; by number where these do not name classes.
            **facts: others.

        Raises:
            InputError: something else than a row, several texts, no such class, or columns of other
                classes than the model's.

        Examples:
            >>> from types import SimpleNamespace
            >>> from exparity import Explanation, load_classifier
            >>> classifier = load_classifier("model")
            >>> # In place of explainer(texts)[0] of the shap package:
            >>> row = SimpleNamespace(data=["she ", "is"], values=[0.5, 0.25])
            >>> Explanation.from_shap(classifier, row, target=0).scores.tolist()
            [0.0, 0.5, 0.25, 0.0]
        """
        target = classifier.class_index(target)
        place = _column_of(explained, target, classifier.class_names)
        try:
            pieces = [str(piece) for piece in explained.data]
            values = np.asarray(explained.values, dtype=np.float64)
            column = values if values.ndim == 1 else values[:, place]
            fits = column.shape == (len(pieces),)
        except (AttributeError, TypeError, ValueError, IndexError):
            fits = False
        if not fits:
            raise InputError(
                "explained must be one row of a shap.Explanation of texts, such as "
                f"explainer(texts)[0], with a column for target {target}, not {shown(explained)}"
            )
        (encoding,) = classifier.encode(["".join(pieces)])
        token_scores = alignment.of_pieces(encoding, pieces, column)
        return cls.of_encoding(classifier, encoding, target, token_scores, **facts)

    def __repr__(self) -> str:
        """Return a line: where it comes from, target, and the strongest tokens."""
        origin = self.origin.method if self.origin else "by hand"
        strongest = np.argsort(-np.abs(np.where(self.content_mask, self.scores, 0.0)))[:3]
        tokens = ", ".join(
            f"{self.tokens[i]} {self.scores[i]:+.3g}" for i in strongest if self.tokens
        )
        target = self.target if self.target_name is None else self.target_name
        return f"<Explanation {origin}, target {target}, {len(self)} tokens: {tokens}, …>"

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each token: ``token``, ``score``, ``special`` and ``word``.

        Examples:
            >>> from exparity import Explanation
            >>> tokens, scores = ["so", "kind"], [0.1, 0.9]
            >>> Explanation("so kind", target=1, tokens=tokens, scores=scores).to_frame()
              token  score  special  word
            0    so    0.1    False     0
            1  kind    0.9    False     1
        """
        import pandas as pd

        columns = {"score": self.scores, "special": ~self.content_mask, "word": self.word_ids}
        tokens = list(self.tokens) or [""] * len(self)
        return pd.DataFrame({"token": tokens, **columns})

    def _repr_html_(self) -> str:
        """Return how notebooks show it: the text, each token shaded by its attribution.

        The strongest content token has the full colour: green for the target, magenta against it.
        Special tokens are shown, but not shaded, as metrics leave them out.
        """
        template = Path(__file__).with_name("explanation.html.j2")
        return notebook_html(template, explanation=self, **shaded_words(self))

    @property
    def content_mask(self) -> BoolArray:
        """(t,) True for the tokens that metrics score: all but the special ones."""
        return np.ones(len(self), bool) if self.special_mask is None else ~self.special_mask

    def units(self, unit: Unit) -> Units:
        """Return the units of the text of a kind; see :mod:`exparity.explanations.units`.

        Args:
            unit: ``token``, ``word``, ``sentence`` or ``spans``.

        Raises:
            InputError: the text has no units of this kind.

        Examples:
            >>> from exparity import Explanation
            >>> tokens, scores = ["so", "kind"], [0.1, 0.9]
            >>> explanation = Explanation("so kind", target=1, tokens=tokens, scores=scores)
            >>> len(explanation.units("word"))
            2
        """
        assert self.word_ids is not None
        both = self.pair and (Text.of(self.pair[0]), Text.of(self.pair[1]))
        parts = self.written or both or Text.of(self.text)
        return units_of(self.word_ids, ~self.content_mask, parts, unit)

    @property
    def sequence_mask(self) -> BoolArray:
        """(t,) True for the tokens of the text and special ones: all but those of a prompt."""
        assert self.word_ids is not None
        return np.asarray(self.word_ids != FRAME_WORD)


def rescored(explanation: Explanation, scores: FloatArray, origin: Origin) -> Explanation:
    """Return an explanation of the same text and class by other (t,) scores of its tokens."""
    twin = copy(explanation)
    object.__setattr__(twin, "scores", scores)  # it is frozen
    object.__setattr__(twin, "origin", origin)
    return twin


def _column_of(explained: ShapRow, target: int, classes: Sequence[str]) -> int:
    """Return the column of a class in an explanation of shap, by the names of its outputs.

    Names that only count outputs, such as shap's own, count the classes of the model.
    """
    outputs = getattr(explained, "output_names", None)
    if outputs is None:
        return target
    names = [str(name) for name in ([outputs] if isinstance(outputs, str) else outputs)]
    if len(names) > 1 and getattr(explained.values, "ndim", None) == 1:
        return target  # one column, and names of all
    columns = [name.casefold() for name in names]
    column_name = classes[target].casefold()
    numbers = [_COUNTED.fullmatch(name) for name in names]
    if all(numbers) and not {*columns} & {name.casefold() for name in classes}:
        columns = [number[1] for number in numbers if number]
        column_name = str(target)
    if columns.count(column_name) != 1:
        raise InputError(
            f"explained is of the outputs {', '.join(names)}, and the class to take is "
            f"'{classes[target]}'; name the model's classes in explainer(..., output_names=[...])"
        )
    return columns.index(column_name)


def shaded_words(explanation: Explanation) -> dict[str, object]:
    """Return the values of ``tokens.html.j2``, which shades a text.

    ``words`` are pairs of a word's tokens (text, score, whether special, or ``between`` the texts
    of a pair) and whether it is of the rationale; ``limit`` is the score of full colour;
    ``any_against`` says whether a score is negative.
    """
    special = ~explanation.content_mask
    rationale = explanation.rationale
    assert explanation.word_ids is not None
    word_ids = explanation.word_ids.tolist()
    texts = token_texts(explanation.tokens)
    scores = explanation.scores
    kinds: list[bool | str] = special.tolist()
    if explanation.pair is not None and False in kinds:
        first = kinds.index(False)
        last = len(kinds) - 1 - kinds[::-1].index(False)
        kinds[first:last] = [kind and "between" for kind in kinds[first:last]]
    tokens = list(zip(texts, scores.tolist(), kinds, strict=True))
    # A special token stands alone, and so belongs to a word of its own.
    words = groupby(range(len(tokens)), key=lambda i: (i if word_ids[i] < 0 else -1, word_ids[i]))
    strengths = [abs(score) for _, score, hidden in tokens if not hidden and math.isfinite(score)]
    return {
        "words": [
            ([tokens[i] for i in members], rationale is not None and word >= 0 and rationale[word])
            for (_, word), members in words
        ],
        "limit": max(strengths, default=0.0),
        "any_against": (scores[~special] < 0).any(),
    }
