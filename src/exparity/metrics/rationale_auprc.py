"""Area under precision against recall of the words (DeYoung et al. 2020)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from exparity.metrics._rationale import Ranking, rationale_metric
from exparity.types import BoolArray, FloatArray


@rationale_metric(
    "rationale_auprc",
    unit="precision",
    reference="DeYoung et al. 2020, doi:10.18653/v1/2020.acl-main.408, section 4.1",
    display="Rationale AUPRC",
)
def rationale_auprc(
    scores: FloatArray,
    rationale: BoolArray,
    word_mask: BoolArray,
    *,
    interpolation: Literal["step", "linear"] = "step",
) -> FloatArray:
    """Area under precision against recall, over the thresholds that the scores give.

    Args:
        scores: (n, w) attributions of words.
        rationale: (n, w) True for words of the rationale.
        word_mask: (n, w) True for words.
        interpolation: ``step`` is average precision; ``linear`` joins the points by straight lines,
            from precision 1 at recall 0, and is more optimistic.

    Returns:
        (n,) in [0, 1], higher is better; the rationale's share of words if all scores are equal
        (``step``). NaN where the rationale is empty.
    """
    ranked = Ranking(scores, rationale, word_mask)
    precision = ranked.hits / (ranked.end + 1)  # (n, w)
    if interpolation == "linear":
        before = np.where(ranked.start > 0, ranked.hits_before / np.maximum(ranked.start, 1), 1.0)
        precision = (precision + before) / 2
    # Every word of the rationale adds the same recall.
    return np.asarray(np.minimum(ranked.mean_over_rationale(precision), 1.0), dtype=np.float64)
