"""GECO, variant 'subj' (Wilming et al. 2024)."""

from __future__ import annotations

from exparity.data import dataset
from exparity.data._geco import facts_of, load_variant
from exparity.data.files import DataSource
from exparity.interface import Example


@dataset("geco_subj", **facts_of("geco_subj"))
def geco_subj(source: DataSource, *, verify: bool = True) -> list[Example]:
    """GECO with only the words of the grammatical subject changed between the sentences of a pair.

    Args:
        source: where the raw files lie or go.
        verify: refuse files whose SHA-256 is not the published one.

    Returns:
        2,576 training and 644 test examples in 1,610 male/female pairs.

    Raises:
        InputError: a file is missing, altered or malformed.
    """
    return load_variant("geco_subj", source, verify)
