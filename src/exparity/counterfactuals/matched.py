"""Generator matched: the other member of a matched set."""

from __future__ import annotations

from exparity.counterfactuals import counterfactual
from exparity.counterfactuals._text import with_words
from exparity.data.table import PreparedData
from exparity.types import Example


@counterfactual("matched", reference="the dataset's own matched sets")
def matched(example: Example, group: str, data: PreparedData) -> Example | None:
    """Take the member of the requested group from the example's matched set.

    Args:
        example: the example.
        group: the requested group.
        data: the dataset, whose sets have members of one label.

    Returns:
        The example with the other member's words; None without a set or such a member. If there
        are several, the first by id is used.
    """
    members = data.sets.get(example.match_id, ()) if example.match_id is not None else ()
    other = next((member for member in members if member.group == group), None)
    return None if other is None else with_words(example, other.words, group)
