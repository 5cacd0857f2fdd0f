"""Tables of the user's own in every format, and raw files of published datasets."""

import csv
import json

import pyarrow as pa
from pyarrow import parquet

from exparity.data import load_dataset
from exparity.data.files import DataSource


def rows_of(n, **columns):
    """Return n rows; a column repeats its values, or is a function of the row's number."""
    return [
        {name: of(i) if callable(of) else of[i % len(of)] for name, of in columns.items()}
        for i in range(n)
    ]


def write(path, rows, metadata=None):
    """Write rows in the format that the suffix says; lists in cells of text are JSON."""
    if path.suffix in (".parquet", ".arrow"):
        table = pa.Table.from_pylist(rows).replace_schema_metadata(metadata)
        if path.suffix == ".parquet":
            parquet.write_table(table, path)
            return path
        with pa.ipc.new_stream(str(path), table.schema) as stream:  # as `datasets` writes it
            stream.write_table(table, max_chunksize=7)
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


def raw_files(folder, contents):
    """Write raw files, of lines that are texts or JSON; returns the source that reads them."""
    for file, lines in contents:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
        path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return DataSource(folder, download=False)


def load_raw(id, source, **options):
    """Return the examples of a dataset whose files are none of the published ones, by id."""
    examples = load_dataset(id, source, {"verify": False, **options})
    return {example.example_id: example for example in examples}
