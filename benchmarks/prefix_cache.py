"""Measure what keys and values of a prompt's beginning would save, if they were computed once.

Usage: python benchmarks/prefix_cache.py

Random Llamas on one thread: CPU seconds of a batch of 2,048 tokens, whole and with the cached
beginning, and whether a text has the same bits alone and in the batch with a cache.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch
from engine_tables import markdown

from exparity.models.auto import AutoConfig, auto_class

SHAPES = ((48, 2), (192, 4), (768, 6))
FRAMES = ((5, 24, 5), (12, 24, 8), (60, 20, 5))
BUDGET = 2048
REPEATS = 5


def measured(width: int, layers: int, frame: tuple[int, int, int]) -> dict[str, Any]:
    """Return the row of one model and one number of tokens before, in and behind the text."""
    from transformers import DynamicCache

    sizes = {"hidden_size": width, "num_hidden_layers": layers, "intermediate_size": width * 8 // 3}
    heads = {"num_attention_heads": width // 24, "num_key_value_heads": width // 48}
    config = AutoConfig.for_model("llama", vocab_size=1000, **sizes, **heads)
    torch.manual_seed(0)
    model = auto_class("AutoModelForCausalLM").from_config(config).eval().base_model
    count = BUDGET // sum(frame)
    before = torch.randn(1, frame[0], width)
    rest = torch.randn(count, frame[1] + frame[2], width)
    known = DynamicCache(config=config)
    model(inputs_embeds=before, past_key_values=known, use_cache=True)

    def cached(rows: torch.Tensor) -> torch.Tensor:
        own = DynamicCache(config=config)
        layers: list[Any] = known.layers
        for place, layer in enumerate(layers):
            keys, values = (one.expand(len(rows), -1, -1, -1) for one in (layer.keys, layer.values))
            own.update(keys, values, place)
        return last(model(inputs_embeds=rows, past_key_values=own, use_cache=True))

    def whole(rows: torch.Tensor) -> torch.Tensor:
        texts = torch.cat([before.expand(len(rows), -1, -1), rows], dim=1)
        return last(model(inputs_embeds=texts, use_cache=False))

    together, plain = cached(rest), whole(rest)
    return {
        "width × layers": f"{width} × {layers}",
        "tokens before + in + behind": " + ".join(map(str, frame)),
        "times faster": seconds(whole, rest) / seconds(cached, rest),
        "relative difference": float((together - plain).abs().max() / plain.abs().max()),
        "same bits alone": "yes" if torch.equal(cached(rest[:1]), together[:1]) else "no",
    }


def last(output: Any) -> torch.Tensor:
    """Return the hidden states of the last position."""
    rows: torch.Tensor = output.last_hidden_state[:, -1]
    return rows


def seconds(run: Callable[[torch.Tensor], torch.Tensor], rows: torch.Tensor) -> float:
    """Return the fewest CPU seconds of some repeats."""
    found = []
    for _ in range(REPEATS):
        start = time.process_time()
        run(rows)
        found.append(time.process_time() - start)
    return min(found)


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    torch.set_num_threads(1)
    with torch.inference_mode():
        print(markdown([measured(*shape, frame) for frame in FRAMES for shape in SHAPES]))


if __name__ == "__main__":
    main()
