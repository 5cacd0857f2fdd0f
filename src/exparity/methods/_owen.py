"""Owen values of a text's tokens: the hierarchy of the shap package, and its search with few masks.

The search is a generator that yields questions, so that those of many texts can share batches.
"""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Generator, Sequence

import numpy as np

from exparity.methods import MethodBatch
from exparity.types import BoolArray, FloatArray, IntArray

Search = Generator[BoolArray, FloatArray, FloatArray]
"""Yields (m, t) masks, is sent (v, m, c) probabilities of v versions of a text, returns (v, t)."""

_ROUND = 5  # masks that a round begins with, as shap's explainer of texts has it
_ENDS_WORD = re.compile(r"^.*\W$")
_BEGINS_LETTER = re.compile(r"^[A-Za-z]")
_CONNECTORS = ("but", "and", "or")


def unit_hierarchy(batch: MethodBatch, text: int) -> IntArray:
    """Return the :func:`text_hierarchy` of the units of a text of a batch, a prompt's left out."""
    encoding = batch.encodings[text]
    units = batch.units[text]
    inside = batch.text_masks[text]
    assert encoding.offsets is not None
    ends = np.zeros(len(units), dtype=np.int64)
    np.maximum.at(ends, units.of_token, encoding.offsets[:, 1])
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
    when ``max_evals`` masks have run is shared evenly among its tokens.

    Args:
        halves: (t − 1, 2) hierarchy of the tokens; see :func:`text_hierarchy`.
        always: (t,) True for tokens that are never absent.
        targets: (v,) class to explain of each version; the first alone decides on splits.
        max_evals: most masks to ask for.
        seed: of the draws.
    """
    n_tokens = len(always)
    n_versions = len(targets)
    known: dict[bytes, FloatArray] = {}  # each mask is run once

    def outputs(masks: Sequence[BoolArray]) -> Generator[BoolArray, FloatArray, list[FloatArray]]:
        """Return the (c + v,) outputs of each mask: classes of the first version, all targets."""
        full = [mask | always for mask in masks]
        new = {mask.tobytes(): mask for mask in full if mask.tobytes() not in known}
        if new:
            answers = yield np.stack(list(new.values()))  # (v, m, c)
            target_answers = answers[np.arange(n_versions), :, targets].T
            known.update(zip(new, np.hstack([answers[0], target_answers]), strict=True))
        return [known[mask.tobytes()] for mask in full]

    nothing = np.zeros(n_tokens, dtype=bool)
    if n_tokens == 1:
        full, none = yield from outputs([~nothing, nothing])
        return np.asarray((full - none)[-n_versions:, None])
    members = np.eye(2 * n_tokens - 1, n_tokens, dtype=bool)  # of each branch
    for branch, (left, right) in enumerate(halves, start=n_tokens):
        members[branch] = members[left] | members[right]
    (none,) = yield from outputs([nothing])
    (full,) = yield from outputs([~nothing])
    effects = np.zeros((len(members), len(none)))
    draws = np.random.RandomState(seed)
    # Rank, draw; branch, tokens present beside it, outputs without it and with it, weight.
    queue = [(0.0, 0.0, (len(members) - 1, nothing, none, full, 1.0))]
    n_asked = 0
    most = max_evals - 2
    while queue and n_asked < most:
        splits: list[tuple[int, BoolArray, FloatArray, FloatArray, float]] = []
        masks: list[BoolArray] = []
        while queue and len(masks) < _ROUND and n_asked + len(masks) < most:
            branch, beside, without, with_it, weight = heapq.heappop(queue)[2]
            if branch < n_tokens:
                effects[branch] += (with_it - without) * weight
                continue
            splits.append((branch, beside, without, with_it, weight))
            masks += [beside | members[half] for half in halves[branch - n_tokens]]
        values = (yield from outputs(masks)) if masks else []
        n_asked += len(masks)
        for place, (branch, beside, without, with_it, weight) in enumerate(splits):
            left, right = halves[branch - n_tokens]
            with_left, with_right = values[2 * place : 2 * place + 2]
            mask_of_left, mask_of_right = masks[2 * place : 2 * place + 2]
            for half, present, start, end in (
                (left, beside, without, with_left),
                (right, beside, without, with_right),
                (left, mask_of_right, with_right, with_it),
                (right, mask_of_left, with_left, with_it),
            ):
                rank = -np.abs(end - start)[:-n_versions].max() * (weight / 2)
                item = half, present, start, end, weight / 2
                heapq.heappush(queue, (rank, draws.randn(), item))
    while queue:
        branch, _, without, with_it, weight = heapq.heappop(queue)[2]
        effects[branch] += (with_it - without) * weight
    sizes = members.sum(axis=1)
    for branch in range(len(members) - 1, n_tokens - 1, -1):
        for half in halves[branch - n_tokens]:
            effects[half] += effects[branch] * sizes[half] / sizes[branch]
    return effects[:n_tokens, -n_versions:].T
