"""What the two variants of GECO share: files, digests and loading."""

from __future__ import annotations

from typing import Any

from exparity.data._gecoformat import GROUPS, LABELS, read_geco, report_oddities
from exparity.data.files import DataSource
from exparity.interface import Example, RemoteFile

_COMMIT = "f0907c69d95353016556a6cbd0c5fcaa76392ed9"
_URL = f"https://raw.githubusercontent.com/braindatalab/gecobench/{_COMMIT}/data/dataset"
_DIGESTS = {
    "all/train": "2763003165719d26ef66503ef3943b782a77e4ef9741098a8e18ad1592ad0df9",
    "all/test": "60f4f84ec5aa1d23eba47bec31e2e22b8c78557a2b28314549ab832d99960edd",
    "subj/train": "590549986d54f2a7d5e49e2bcd66473e0ce79d53879960751c9e39395115f066",
    "subj/test": "0ff41288c3691acc46a6df62a4fab407703e2c5a7a8e09f6cd71b3a679869d79",
}


def files_of(variant: str) -> tuple[RemoteFile, RemoteFile]:
    """Return the training and the test file of a variant (``all`` or ``subj``)."""
    train, test = (
        RemoteFile(
            path=f"geco/binary_gender_{variant}/{split}.jsonl",
            url=f"{_URL}/binary_gender_{variant}/{split}.jsonl",
            sha256=_DIGESTS[f"{variant}/{split}"],
        )
        for split in ("train", "test")
    )
    return train, test


def facts_of(variant: str) -> dict[str, Any]:
    """Return the facts of a variant (``all`` or ``subj``)."""
    return {
        "attribute": "gender",
        "groups": GROUPS,
        "labels": LABELS,
        "matched": True,
        "rationales": True,
        "licence": "BSD 3-Clause",
        "reference": "Wilming et al. 2024, GECOBench",
        "files": files_of(variant),
        "display": f"GECO-{variant.upper()}",
    }


def load_variant(variant: str, source: DataSource, verify: bool) -> list[Example]:
    """Read both splits of a variant and report its oddities."""
    train, test = (source.find(file, verify=verify) for file in files_of(variant))
    examples = read_geco(train, "train") + read_geco(test, "test")
    report_oddities(f"geco_{variant}", examples)
    return examples
