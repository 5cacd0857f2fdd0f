"""Values of texts that are compared between groups: scores, their excess over chance, skill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from exparity.stats.skill import LEAST_ROOM, Scale, Step, linearised
from exparity.types import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class Quantity:
    """Values of a cell's texts that are compared between groups: its scores, or their excess.

    Attributes:
        values: (n,) by scale, the shown one first; None is the scale of a quantity without others.
    """

    values: Mapping[Scale | None, FloatArray]

    @property
    def shown(self) -> FloatArray:
        """(n,) values on the scale that is shown."""
        return next(iter(self.values.values()))

    def among(self, chosen: BoolArray) -> Quantity:
        """Return the quantity of some of its (n,) texts; NaN elsewhere."""
        return Quantity(
            {scale: np.where(chosen, values, np.nan) for scale, values in self.values.items()}
        )


@dataclass(frozen=True, eq=False)
class Skill(Quantity):
    """The skill of the explanations of a cell: the mean of the values in a group.

    Attributes:
        steps: (n, 2) gain over chance, NaN where undefined, and room that a reference leaves above
            chance, by scale.
        groups: (n,) group of each text.
        is_share: whether the room is a share, on the scale that is shown.
        flags: of the cell.
        claims_means: whether a mean gap is ascribed to the explanations: not with a single scale,
            which other ways to count falls might contradict.
        counting: (n,) how many units of each text count; None where that is not known.
    """

    steps: Mapping[Scale, FloatArray]
    groups: Sequence[str]
    is_share: bool = True
    flags: Sequence[str] = ()
    claims_means: bool = True
    counting: FloatArray | None = None

    @classmethod
    def of(
        cls,
        steps: Mapping[Scale, Sequence[Step] | FloatArray],
        groups: Sequence[str],
        least_room: float = LEAST_ROOM,
        *,
        flags: Sequence[str] = (),
        claims_means: bool = True,
        counting: FloatArray | None = None,
    ) -> Skill:
        """Return a skill by the steps of its texts.

        ``least_room`` is the mean room of a group that has a skill, on the scale that is shown.
        """
        arrays = {
            scale: np.array(pairs, dtype=np.float64).reshape(-1, 2)
            for scale, pairs in steps.items()
        }
        shown, *_ = arrays
        values: dict[Scale | None, FloatArray] = {
            scale: linearised(
                pairs[:, 0], pairs[:, 1], groups, least_room=least_room if scale == shown else 0.0
            )
            for scale, pairs in arrays.items()
        }
        return cls(values, arrays, groups, least_room > 0, flags, claims_means, counting)

    def among(self, chosen: BoolArray) -> Skill:
        """Return the skill of some of its (n,) texts."""
        steps = {
            scale: np.where(chosen[:, None], pairs, np.nan) for scale, pairs in self.steps.items()
        }
        least = LEAST_ROOM if self.is_share else 0.0
        return Skill.of(
            steps,
            self.groups,
            least,
            flags=self.flags,
            claims_means=self.claims_means,
            counting=self.counting,
        )

    @property
    def shown_room(self) -> FloatArray:
        """(n,) room on the scale that is shown."""
        return next(iter(self.steps.values()))[:, 1]


def is_skill(quantity: str) -> bool:
    """Return whether what is compared is the skill of explanations, or of random ones."""
    return quantity.removeprefix("random_") == "skill"
