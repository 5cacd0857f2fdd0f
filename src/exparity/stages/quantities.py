"""The quantities of a cell: its scores, their excess, and the skill of its explanations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from exparity.stages.skill import Controls, RandomScores, Skill, skill_of
from exparity.stats.skill import Scale, ScaleTests, Test, on_all_scales
from exparity.types import FloatArray


@dataclass(frozen=True)
class Quantities:
    """The values of a cell's texts that are compared between groups.

    Attributes:
        shown: (n,) values by quantity, the scores first; of skill on the scale that is shown.
        skill: that of the explanations; None without.
    """

    shown: Mapping[str, FloatArray]
    skill: Skill | None = None

    @classmethod
    def of(
        cls,
        table: pa.Table,
        metadata: Mapping[str, Any],
        random: RandomScores | None,
        controls: Controls,
        *,
        is_drawn: bool = False,
    ) -> Quantities:
        """Return the quantities of scores, by the metadata of their artefact.

        Excess and skill are defined where other random explanations were scored alike. Quantities
        of a random explanation (``is_drawn``) are named so.
        """
        prefix = "random_" if is_drawn else ""
        shown = {f"{prefix}score": table.column("score").to_numpy()}
        if random is None or not random.are_scored_as(metadata):
            return cls(shown)
        shown[f"{prefix}excess"] = random.excess(table)
        skill = skill_of(table, metadata, random, controls, is_drawn=is_drawn)
        if skill is not None:
            shown[f"{prefix}skill"] = skill.shown
        return cls(shown, skill)

    def values(self, quantity: str, scale: Scale | None = None) -> FloatArray:
        """Return (n,) values of a quantity, of skill on a scale."""
        if scale is None or self.skill is None:
            return self.shown[quantity]
        return self.skill.values[scale]


def scales_of(skills: Sequence[Skill]) -> list[Scale | None]:
    """Return the scales on which skills are tested; None alone for a quantity without any."""
    return [*dict.fromkeys(scale for skill in skills for scale in skill.values)] or [None]


def over_scales(
    skills: Sequence[Skill],
    tests: Mapping[Scale | None, Sequence[Test]],
    estimate: str = "d",
) -> list[tuple[Test, ScaleTests]]:
    """Return what holds on all scales, for each pair of groups.

    ``tests`` are those of the pairs on each of :func:`scales_of` the skills; ``estimate`` names
    what is tested.
    """
    if not skills:
        return [(test, ScaleTests()) for test in tests[None]]
    claims_means = all(skill.claims_means for skill in skills)
    return [
        on_all_scales(
            {scale: test for scale, test in zip(tests, each, strict=True) if scale},
            estimate=estimate,
            claims_means=claims_means,
        )
        for each in zip(*tests.values(), strict=True)
    ]
