"""Owen values of a text's tokens: the hierarchy of the shap package, and its search with few masks.

The search is a generator that yields questions, so that those of many texts can share batches.
"""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from exparity.methods import MethodBatch
from exparity.types import BoolArray, FloatArray, IntArray

Search = Generator[BoolArray, FloatArray, FloatArray]
"""Yields (m, t) masks, is sent (v, m, c) probabilities of v versions of a text, returns (v, t)."""

_ROUND = 5  # masks that a round begins with, as shap's explainer of texts has it
_AHEAD = 16  # branches of later rounds whose masks are asked for early, so that batches are large
_ENDS_WORD = re.compile(r"^.*\W$")
_BEGINS_LETTER = re.compile(r"^[A-Za-z]")
_CONNECTORS = ("but", "and", "or")  # which shap's explainer would rather leave by themselves


def unit_hierarchy(batch: MethodBatch, text: int) -> IntArray:
    """Return the :func:`text_hierarchy` of the units of a text of a batch, a prompt's left out."""
    encoding = batch.encodings[text]
    units = batch.units[text]
    inside = batch.text_masks[text]
    assert encoding.offsets is not None
    ends = np.zeros(len(units), dtype=np.int64)
    np.maximum.at(ends, units.unit_of_token, encoding.offsets[:, 1])
    spans = np.stack([encoding.offsets[units.first, 0], ends], axis=1)[inside]
    return text_hierarchy(encoding.text, spans, batch.classifier.tokenizer.sep_token)


def text_hierarchy(text: str, spans: IntArray, separator: str | None) -> IntArray:
    """Return the (t − 1, 2) halves of each branch of a text's tokens, the whole text last.

    Tokens are branches 0 to t − 1. The two neighbours with the highest :func:`_merge_score` are
    joined first, of several the first two.

    Args:
        text: the text.
        spans: (t, 2) start and end of each token in it.
        separator: token between two texts, whose neighbours are joined last.
    """
    tokens = _tokens(text, spans)
    n_tokens = len(tokens)
    unbalanced = {place for place, token in enumerate(tokens) if token in ("(", ")")}
    groups = [(place, place) for place in range(n_tokens)]  # first and last token
    branches = list(range(n_tokens))

    def score(at: int) -> float:
        return _merge_score(tokens, groups[at], groups[at + 1], unbalanced, separator)

    scores = [score(at) for at in range(n_tokens - 1)]
    halves = np.zeros((n_tokens - 1, 2), dtype=np.int64)
    for number in range(n_tokens - 1):
        at = scores.index(max(scores))
        first = groups[at][0]
        last = groups.pop(at + 1)[1]
        groups[at] = first, last
        halves[number] = branches[at], branches.pop(at + 1)
        branches[at] = n_tokens + number
        if (tokens[first], tokens[last]) == ("(", ")"):
            unbalanced -= {first, last}
        del scores[at]
        for changed in range(max(at - 1, 0), min(at + 1, len(scores))):
            scores[changed] = score(changed)
    return halves


def _tokens(text: str, spans: IntArray) -> list[str]:
    """Return tokens without blanks around them; ``##`` before those that go on with a word."""
    # A piece reaches to the next token: the blank after a word is the word's.
    ends = [*np.maximum(spans[:-1, 1], spans[1:, 0]), spans[-1, 1]]
    pieces = [text[start:end] for start, end in zip(spans[:, 0], ends, strict=True)]
    tokens: list[str] = []
    for place, piece in enumerate(pieces):
        goes_on = (
            place > 0
            and tokens[-1] != ""
            and not _ENDS_WORD.match(pieces[place - 1])
            and _BEGINS_LETTER.match(piece)
        )
        tokens.append(f"##{piece.strip()}" if goes_on else piece.strip())
    return tokens


def _merge_score(
    tokens: Sequence[str],
    left: tuple[int, int],
    right: tuple[int, int],
    unbalanced: set[int],
    separator: str | None,
) -> float:
    """Return how well two neighbouring groups of tokens belong together, as shap's ``Text`` does.

    Pieces of a word come first, then endings after an apostrophe; brackets, connectors, commas and
    ends of sentences part groups, and small groups go before large ones.
    """
    before = tokens[left[1]]
    after = tokens[right[0]]
    size = right[1] - right[0] + 1
    score = 0.0
    if separator and before == after == separator:
        score -= math.inf
    if after.startswith("##"):
        score += 20
    if after == "'" and (size == 1 or (size == 2 and tokens[right[1]] in ("t", "s"))):
        score += 15
    if before == "'" and after in ("t", "s"):
        score += 15
    if _is_control(tokens[left[0]]) != _is_control(tokens[right[1]]):
        score -= 1000
    if after == "(" and right[0] in unbalanced:
        score -= 100
    if before == ")" and left[1] in unbalanced:
        score -= 100
    if tokens[left[0]] == "(":
        score -= 2
    if before in _CONNECTORS or after in _CONNECTORS:
        score -= 2
    for marks, cost in (((",",), 10), ((".", "?", "!"), 20)):
        if before in marks:
            score -= cost
        if after in marks:
            score -= cost if size > 1 else 1
    return score - (left[1] - left[0] + 1) - size


def _is_control(token: str) -> bool:
    return token.startswith("[") and token.endswith("]")


def owen_values(
    halves: IntArray, always: BoolArray, targets: IntArray, max_evals: int, seed: int
) -> Search:
    """Search for the Owen values of a text's tokens, and of versions of it beside it.

    As the shap package's explainer of partitions: of all branches the one with the largest effect
    on a class, times its weight, is split first; draws decide between equal ones. What is not split
    when ``max_evals`` masks have run is shared evenly among its tokens. Masks of later rounds run
    early, so that batches are large; what they give is used in the order of that explainer.

    Args:
        halves: (t − 1, 2) hierarchy of the tokens; see :func:`text_hierarchy`.
        always: (t,) True for tokens that are never absent.
        targets: (v,) class to explain of each version; the first alone decides on splits.
        max_evals: most masks to ask for, and 2 × ``_AHEAD`` more that may turn out unneeded.
        seed: of the draws.
    """
    tree = _Tree.of(halves)
    outputs = _KnownOutputs(always, targets)
    nothing = np.zeros(tree.n_tokens, dtype=bool)
    (none,) = yield from outputs.ask([nothing])
    (full,) = yield from outputs.ask([~nothing])
    n_versions = len(targets)
    effects = np.zeros((len(tree.members), len(none)))
    draws = np.random.RandomState(seed)
    queue = [_Part(0.0, 0.0, tree.root, nothing, none, full, 1.0)]
    n_asked = 0
    most = max_evals - 2
    whole_tree = list(tree.masks_below(tree.root, nothing)) if tree.n_masks <= most else None

    while queue and n_asked < most:
        splits: list[_Part] = []
        while queue and 2 * len(splits) < min(_ROUND, most - n_asked):
            part = heapq.heappop(queue)
            if part.branch < tree.n_tokens:
                effects[part.branch] += part.effect
            else:
                splits.append(part)
        if not splits:
            break
        masks = [mask for part in splits for mask in tree.split(part.branch, part.beside)]
        n_asked += len(masks)
        later = whole_tree or _masks_of_next_rounds(tree, queue, most - n_asked)
        values = yield from outputs.ask(masks, later)
        for place, part in enumerate(splits):
            pair = slice(2 * place, 2 * place + 2)
            for half in _halves_of(part, tree, masks[pair], values[pair]):
                rank = -np.abs(half.with_it - half.without)[:-n_versions].max() * half.weight
                heapq.heappush(queue, half._replace(rank=rank, draw=draws.randn()))
    for part in sorted(queue):
        effects[part.branch] += part.effect
    sizes = tree.members.sum(axis=1)
    for branch in range(tree.root, tree.n_tokens - 1, -1):
        for half_branch in halves[branch - tree.n_tokens]:
            effects[half_branch] += effects[branch] * sizes[half_branch] / sizes[branch]
    return effects[: tree.n_tokens, -n_versions:].T


class _Part(NamedTuple):
    """A branch beside present tokens, to be split; those of the lowest rank come first.

    Attributes:
        rank: minus the largest effect on a class, times the weight.
        draw: decides between equal ranks.
        branch: its number in the tree.
        beside: (t,) True for the tokens that are present beside it.
        without: (c + v,) outputs where it is absent.
        with_it: (c + v,) outputs where it is present.
        weight: of the effect in the values of its tokens.
    """

    rank: float
    draw: float
    branch: int
    beside: BoolArray
    without: FloatArray
    with_it: FloatArray
    weight: float

    @property
    def effect(self) -> FloatArray:
        """(c + v,) what its presence adds to the values of its tokens."""
        return (self.with_it - self.without) * self.weight


def _halves_of(
    part: _Part, tree: _Tree, masks: Sequence[BoolArray], values: Sequence[FloatArray]
) -> list[_Part]:
    """Return the halves of a part, alone and beside the other half; ranks and draws are open.

    ``masks`` and ``values`` are those with the left half and with the right half.
    """
    left, right = tree.halves[part.branch - tree.n_tokens].tolist()
    mask_of_left, mask_of_right = masks
    with_left, with_right = values
    weight = part.weight / 2
    return [
        _Part(0.0, 0.0, left, part.beside, part.without, with_left, weight),
        _Part(0.0, 0.0, right, part.beside, part.without, with_right, weight),
        _Part(0.0, 0.0, left, mask_of_right, with_right, part.with_it, weight),
        _Part(0.0, 0.0, right, mask_of_left, with_left, part.with_it, weight),
    ]


def _masks_of_next_rounds(tree: _Tree, queue: Sequence[_Part], n_left: int) -> list[BoolArray]:
    """Return the masks of the parts that come next by what is known; nearly all are split later."""
    parts = heapq.nsmallest(min(_AHEAD, n_left // 2), queue)
    wide = [part for part in parts if part.branch >= tree.n_tokens]
    return [mask for part in wide for mask in tree.split(part.branch, part.beside)]


class _KnownOutputs:
    """Outputs of a text's masks; each mask runs once."""

    def __init__(self, always: BoolArray, targets: IntArray) -> None:
        self._always = always
        self._targets = targets
        self._known: dict[bytes, FloatArray] = {}

    def ask(
        self, masks: Sequence[BoolArray], later: Iterable[BoolArray] = ()
    ) -> Generator[BoolArray, FloatArray, list[FloatArray]]:
        """Return the (c + v,) outputs of each mask: classes of the first version, all targets.

        Where one of them has not run yet, those for ``later`` run with it.
        """
        padded_masks = [mask | self._always for mask in masks]
        new = self._unknown(padded_masks)
        if new:
            new |= self._unknown(mask | self._always for mask in later)
            answers = yield np.stack(list(new.values()))  # (v, m, c)
            versions = np.arange(len(self._targets))
            target_answers = answers[versions, :, self._targets].T
            outputs = np.hstack([answers[0], target_answers])
            self._known.update(zip(new, outputs, strict=True))
        return [self._known[mask.tobytes()] for mask in padded_masks]

    def _unknown(self, masks: Iterable[BoolArray]) -> dict[bytes, BoolArray]:
        """Return the masks that have not run, each once."""
        by_bytes = {mask.tobytes(): mask for mask in masks}
        return {key: mask for key, mask in by_bytes.items() if key not in self._known}


@dataclass(frozen=True)
class _Tree:
    """The hierarchy of a text's tokens.

    Attributes:
        halves: (t − 1, 2) halves of each branch that is no token.
        members: (2t − 1, t) True for the tokens of each branch.
    """

    halves: IntArray
    members: BoolArray

    @classmethod
    def of(cls, halves: IntArray) -> _Tree:
        """Return the tree of some halves."""
        n_tokens = len(halves) + 1
        members = np.eye(2 * n_tokens - 1, n_tokens, dtype=bool)
        for branch, (left, right) in enumerate(halves, start=n_tokens):
            members[branch] = members[left] | members[right]
        return cls(halves, members)

    @property
    def n_tokens(self) -> int:
        """Number of tokens; the branches of lower numbers."""
        return len(self.halves) + 1

    @property
    def root(self) -> int:
        """The branch of the whole text."""
        return len(self.members) - 1

    @property
    def n_masks(self) -> int:
        """Masks that it takes to split everything: two a split, and each half is split twice."""
        counts = [0] * self.n_tokens  # Python's integers: those of long texts leave int64
        for left, right in self.halves.tolist():
            counts.append(2 + 2 * (counts[left] + counts[right]))
        return counts[-1]

    def split(self, branch: int, beside: BoolArray) -> list[BoolArray]:
        """Return the (t,) masks of the tokens beside a branch, with either half of it."""
        return [beside | self.members[half] for half in self.halves[branch - self.n_tokens]]

    def masks_below(self, branch: int, beside: BoolArray) -> Iterator[BoolArray]:
        """Yield the masks that it takes to split a branch to its tokens."""
        if branch < self.n_tokens:
            return
        left, right = self.halves[branch - self.n_tokens].tolist()
        with_left, with_right = self.split(branch, beside)
        yield with_left
        yield with_right
        for half in (left, right):
            yield from self.masks_below(half, beside)
        yield from self.masks_below(left, with_right)
        yield from self.masks_below(right, with_left)
