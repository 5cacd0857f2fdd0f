"""GECO with three genders, variant 'subj' (Wilming et al. 2024)."""

from __future__ import annotations

from exparity.data import dataset
from exparity.data._geco import facts_of, load_variant
from exparity.data.files import DataSource
from exparity.interface import Example


@dataset("geco_nonbinary_subj", **facts_of("geco_nonbinary_subj"))
def geco_nonbinary_subj(
    source: DataSource,
    *,
    verify: bool = True,
    train_sha256: str | None = None,
    test_sha256: str | None = None,
) -> list[Example]:
    """GECO with the words of the subject alone changed between the three sentences of a set.

    Args:
        source: where the raw files lie or go.
        verify: refuse files that are not known to be the published ones.
        train_sha256: SHA-256 of the training file, once you have compared it.
        test_sha256: SHA-256 of the test file.

    Returns:
        3,864 training and 966 test examples in 1,610 sets of a male, a female and a neutral one.

    Raises:
        InputError: a file is missing, altered, malformed, or its digest is not given.
    """
    digests = {"train_sha256": train_sha256, "test_sha256": test_sha256}
    return load_variant("geco_nonbinary_subj", source, verify, digests)
