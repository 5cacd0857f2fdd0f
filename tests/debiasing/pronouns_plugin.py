"""A user's own counterfactual generator: the other pronoun, where there is one to swap."""

from dataclasses import replace
from pathlib import Path

from exparity.counterfactuals import counterfactual
from exparity.data.table import PreparedData
from exparity.types import Example

PAIRS = {"he": "she", "his": "her", "him": "her"}


@counterfactual(
    "pronouns", reference="a test", groups=("male", "female"), path_options=("more_pairs",)
)
def pronouns(
    example: Example,
    group: str,
    data: PreparedData,
    *,
    capitals: bool = True,
    more_pairs: str | None = None,
) -> Example | None:
    """Swap pronouns, and words of a file of tab-separated pairs."""
    pairs = dict(PAIRS)
    if more_pairs is not None:
        lines = Path(more_pairs).read_text(encoding="utf-8").splitlines()
        pairs |= {first: second for first, second in (line.split("\t") for line in lines)}
    if data.groups.index(group) == 0:
        pairs = {second: first for first, second in pairs.items()}
    if capitals:
        pairs |= {key.capitalize(): value.capitalize() for key, value in pairs.items()}
    words = tuple(pairs.get(word, word) for word in example.words)
    return None if words == example.words else replace(example, words=words, group=group)
