"""Tables of the user's own in every format."""

import csv
import json

import pyarrow as pa
from pyarrow import parquet


def rows_of(n, **columns):
    """Return n rows; a column repeats its values, or is a function of the row's number."""
    return [
        {name: of(i) if callable(of) else of[i % len(of)] for name, of in columns.items()}
        for i in range(n)
    ]


def write(path, rows):
    """Write rows in the format that the suffix says; lists in cells of text are JSON."""
    if path.suffix == ".parquet":
        parquet.write_table(pa.Table.from_pylist(rows), path)
        return path
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".jsonl":
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            return path
        delimiter = "\t" if path.suffix == ".tsv" else ","
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            lists = {k: json.dumps(value) for k, value in row.items() if isinstance(value, list)}
            writer.writerow({**row, **lists})
    return path
