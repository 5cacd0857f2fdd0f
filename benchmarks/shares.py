"""Print the shares of matrix products, attention and others in the time of an explanation.

Usage: python benchmarks/shares.py METHOD --model FOLDER [--precision bf16] [--texts N]

Explains made-up texts with an encoder of a folder below a random head, on one thread.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

import torch
from pairs import pretrained, texts_of
from torch.profiler import ProfilerActivity, profile

import exparity

_PARTS = {
    "products": ("linear", "mm"),
    "attention": ("attention",),
    "GELU": ("gelu",),
    "normalisation": ("norm",),
}


def part_of(call: str) -> str:
    """Return which part a call of torch belongs to."""
    parts = (part for part, names in _PARTS.items() if any(name in call for name in names))
    return next(parts, "other calls of torch")


def main() -> None:
    """Explain some texts with torch's profiler at work, and print shares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("method", help="such as lime or shap, with its defaults")
    parser.add_argument("--model", required=True, help="folder of a pretrained encoder")
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--texts", type=int, default=3, help="how many (default: 3)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    dtype = torch.bfloat16 if options.precision == "bf16" else torch.float32
    classifier = pretrained(options.model, dtype)
    texts = texts_of(options.texts)
    exparity.explain(classifier, texts[:1], None, options.method)
    with profile(activities=[ProfilerActivity.CPU]) as record:
        start = time.perf_counter()
        exparity.explain(classifier, texts, None, options.method)
        seconds = time.perf_counter() - start
    shares = Counter[str]()
    for event in record.key_averages():
        shares[part_of(event.key)] += event.self_cpu_time_total / 1e6 / seconds
    shares["Python"] = 1 - shares.total()
    for part, share in shares.most_common():
        print(f"{share:6.1%}  {part}")


if __name__ == "__main__":
    main()
