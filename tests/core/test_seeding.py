"""Seeds depend on the run's seed and the key, on every machine and in every process alike."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exparity.core.seeding import derive_seed, generator

CHARACTERS = st.characters(codec="utf-8", exclude_characters="\x1f")
PARTS = st.lists(st.text(CHARACTERS, max_size=5), max_size=3)
SEEDS = st.integers(0, 2**32)


@pytest.mark.parametrize(
    ("seed", "key", "expected"),
    [
        # First 8 bytes of `printf TEXT | sha256sum`, halved: TEXT is the parts joined by 0x1f.
        (0, (), 0x5FECEB66FFC86F38 >> 1),
        (1, (), 0x6B86B273FF34FCE1 >> 1),
        (0, ("explain", "lime", "0001-male"), 0x293C0491885CAE02 >> 1),
    ],
)
def test_the_numbers_are_fixed_for_ever(seed, key, expected):
    assert derive_seed(seed, *key) == expected


@given(SEEDS, SEEDS, PARTS, PARTS)
def test_different_keys_give_different_seeds(seed, other, key, different):
    same = (seed, key) == (other, different)
    assert (derive_seed(seed, *key) == derive_seed(other, *different)) == same


def test_numbers_and_their_text_are_one_key():
    assert derive_seed(0, "fold", 3) == derive_seed(0, "fold", "3")


def test_the_global_state_of_numpy_is_left_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    generator(5, "a").random(10)
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002
