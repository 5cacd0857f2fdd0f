"""Values of the players of a game, as loops over coalitions; a masked text as a game."""

from itertools import combinations
from math import comb

import numpy as np
from engine.exact import ExactModel


class Masked:
    """The target's probability in float64 where some units of an explained text are there.

    ``unit_of`` are the units of its tokens; those below zero always stay.
    """

    def __init__(self, classifier, one, absent, unit_of):
        self.exact, self.one, self.absent = ExactModel(classifier), one, absent
        self.unit_of, self.known = np.asarray(unit_of), {}

    def __call__(self, present):
        present = frozenset(present)
        if present not in self.known:
            here = [unit < 0 or unit in present for unit in self.unit_of]
            ids = np.where(here, self.one.token_ids, self.absent)
            self.known[present] = self.exact.probability_of(ids, self.one.target)
        return self.known[present]


def shapley(worth, n):
    """Shapley values of n players, by what each adds to every coalition of the others."""
    teams = [team for size in range(n + 1) for team in combinations(range(n), size)]
    worth_of = {frozenset(team): worth(set(team)) for team in teams}
    values = np.zeros(n)
    for team, value in worth_of.items():
        for player in set(range(n)) - team:
            gain = worth_of[team | {player}] - value
            values[player] += gain / (n * comb(n - 1, len(team)))
    return values


def owen(value, tree, n):
    """Owen values of a binary hierarchy, by recursion.

    A branch shares its effect between its halves: each half gets the mean of what it adds when the
    other is absent and when it is present, and passes both contexts on with half the weight.
    """
    scores = np.zeros(n)

    def members(node):
        if node < n:
            return {node}
        return members(int(tree[node - n][0])) | members(int(tree[node - n][1]))

    def share(node, present, weight):
        if node < n:
            scores[node] += weight * (value(present | {node}) - value(present))
            return
        left, right = (int(child) for child in tree[node - n][:2])
        for one, other in ((left, right), (right, left)):
            share(one, present, weight / 2)
            share(one, present | members(other), weight / 2)

    share(2 * n - 2, frozenset(), 1.0)
    return scores
