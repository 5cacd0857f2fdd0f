#!/usr/bin/env bash
# Install exparity itself into the environment, editable, so that jobs run the checkout's code.
# Snakemake runs this where the workflow was started; set EXPARITY_SOURCE if that is elsewhere.
set -euo pipefail
source_dir="${EXPARITY_SOURCE:-$PWD}"
if ! grep -qs '^name = "exparity"' "$source_dir/pyproject.toml"; then
  echo "no exparity checkout at $source_dir; set EXPARITY_SOURCE to its folder" >&2
  exit 1
fi
python -m pip install --no-deps --no-build-isolation --editable "$source_dir"
