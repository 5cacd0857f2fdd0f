"""Write a randomly initialised classifier of BERT-base's size, for measuring.

Usage: python benchmarks/random_checkpoint.py FOLDER --tokenizer CHECKPOINT
"""

from __future__ import annotations

import argparse

import torch
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--tokenizer", required=True, help="checkpoint whose tokenizer is taken")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(arguments.tokenizer, trust_remote_code=False)
    model = BertForSequenceClassification(BertConfig(vocab_size=len(tokenizer)))
    model.save_pretrained(arguments.folder)
    tokenizer.save_pretrained(arguments.folder)


if __name__ == "__main__":
    main()
