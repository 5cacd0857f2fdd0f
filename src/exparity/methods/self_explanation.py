"""Self-explanation: a prompted language model names the words that decided."""

from __future__ import annotations

from typing import Annotated

from exparity.core.flags import Range
from exparity.explanations.named_words import read_answer
from exparity.methods import MethodBatch, method
from exparity.types import FloatArray

QUESTION = "Words that decided, copied from the text, the most important first:"


@method(
    "self_explanation",
    signed=False,
    needs_gradient=False,
    target="probability",
    baseline=None,
    stochastic=False,
    reference="Huang et al. 2023, arXiv:2310.11207; Madsen et al. 2024, arXiv:2401.07927",
    display="Self-explanation",
    passes=20,
    writes=True,
)
def self_explanation(
    batch: MethodBatch,
    *,
    question: str = QUESTION,
    max_new_tokens: Annotated[int, Range(at_least=1, at_most=1000)] = 40,
) -> list[FloatArray]:
    r"""Words that the model itself names when it is asked which decided, by their rank.

    The question follows the prompt and the word of the explained class, in a chat as the next
    message of the user, and the likeliest token is taken each time. The k-th different word of the
    answer that is in the text scores :math:`1 / k`, shared evenly among its tokens.

    Args:
        batch: the texts.
        question: what is asked.
        max_new_tokens: most tokens of an answer.

    Returns:
        (t,) scores for each text, in [0, 1]; words that are not named score 0, and so does all of a
        text whose answer names none.
    """
    from exparity.engine.answering import answers_to

    targets = [int(target) for target in batch.targets]
    written = answers_to(batch.classifier, batch.rows, targets, question, max_new_tokens)
    scores = []
    for key, encoding, text in zip(batch.keys, batch.encodings, written, strict=True):
        text_scores, batch.answers[key] = read_answer(text, encoding)
        scores.append(text_scores)
    return scores
