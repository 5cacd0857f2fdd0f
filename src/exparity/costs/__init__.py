"""What jobs cost: measured on finished ones, estimated from these for those of Snakemake's DAG."""
