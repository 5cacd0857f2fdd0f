"""Types of models, as transformers names them, whose layers shortcuts know."""

ENCODERS = ("bert", "roberta")
DECODERS = ("gpt2",)
ONE_LAYER = ("ola",)
FAMILIES = ENCODERS + DECODERS + ONE_LAYER
