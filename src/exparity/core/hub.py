"""Errors of the Hugging Face Hub in words."""

from __future__ import annotations


def hub_problem(error: Exception, kind: str, revision: str | None, remedy: str) -> str:
    """Return why the Hub gives no ``model`` or ``dataset``; the remedy is for no connection."""
    from huggingface_hub import errors

    if isinstance(error, errors.GatedRepoError):
        return f"its owner asks for consent; give it on the {kind}'s page, and set HF_TOKEN"
    if isinstance(error, errors.RevisionNotFoundError):
        return f"the Hub has no revision {revision} of such a {kind}; correct one of them"
    if isinstance(error, errors.RepositoryNotFoundError):
        return f"the Hub has no such {kind}, or a private one; correct the name, or set HF_TOKEN"
    if isinstance(error, errors.HFValidationError):
        return f"the Hub has no {kind}s of such a name; correct it"
    reason = f"{type(error).__name__}: {error}".splitlines()[0]
    if isinstance(error, errors.OfflineModeIsEnabled):
        reason = "HF_HUB_OFFLINE is set"
    return f"the Hub could not be reached ({reason}); {remedy}"
