"""Generated biographies: the label is an occupation, the group a gender, independent by default."""

from __future__ import annotations

from typing import Annotated, Literal

from exparity.core.errors import InputError
from exparity.core.flags import Range, Share
from exparity.data import dataset
from exparity.data._known import known_facts, known_labels
from exparity.data.files import DataSource
from exparity.types import Example

LABELS = known_labels("bios")
# With the fewest, both splits have a biography of every class; with the most, every template still
# gives far more distinct ones than its share (see the tests).
MIN_BIOGRAPHIES = 2 * len(LABELS)
MAX_BIOGRAPHIES = 10_000


@dataset("bios", **known_facts("bios"))
def bios(
    source: DataSource,
    *,
    n_biographies: Annotated[int, Range(at_least=MIN_BIOGRAPHIES, at_most=MAX_BIOGRAPHIES)] = 800,
    paired: bool = True,
    imbalance: Annotated[float, Range(at_least=0.5, at_most=1)] = 0.5,
    proxy: Annotated[float, Range(at_least=0, at_most=1)] = 0.0,
    ambiguity: Annotated[float, Range(at_least=0, at_most=1)] = 0.0,
    ambiguous_group: Literal["both", "male", "female"] = "both",
    test_share: Share = 0.15,
    generator_seed: int = 0,
) -> list[Example]:
    """Short biographies of men and women in four occupations that none of them names.

    Args:
        source: not used; the sentences come from a grammar.
        n_biographies: biographies in both splits together.
        paired: every biography in two versions, of a man and of a woman; otherwise in one.
        imbalance: share of the larger gender within each class: men in the first and third class,
            women in the others.
        proxy: share of people whose town is from their own gender's list, less that of people
            whose town is from the other one's.
        ambiguity: share of biographies whose words for work are shared by two occupations, the
            first and second or the third and fourth, and leave open which of them it is.
        ambiguous_group: of whom these biographies are; of one gender, without pairs, they plant a
            gap: what a text says of its class is less where the person is of that gender.
        test_share: share of the biographies in the test split, in (0, 1).
        generator_seed: seed of the grammar; another one gives other biographies.

    Returns:
        Two examples per biography if paired; else one, with the text of its other version among its
        attributes, as ``counterfactual``. No template occurs in both splits.
    """
    from exparity.data._biographies import Population, generate_biographies

    for option, value, neutral in (
        ("imbalance", imbalance, 0.5),
        ("proxy", proxy, 0.0),
        ("ambiguous_group", ambiguous_group, "both"),
    ):
        if paired and value != neutral:
            raise InputError(
                f"dataset bios.{option}: {value} has no effect on pairs, whose two versions share "
                "occupation, town and words for work; set paired: false as well"
            )
    return generate_biographies(
        n_biographies,
        Population(imbalance, proxy, ambiguity, ambiguous_group),
        paired=paired,
        test_share=test_share,
        seed=generator_seed,
    )
