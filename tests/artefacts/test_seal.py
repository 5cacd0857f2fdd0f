"""The seal of Parquet files: others read them, and what has none is read as before."""

from hashlib import sha256

import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from support import rotten

from exparity.artefacts.seal import open_sealed, read_metadata, read_seal, write_sealed
from exparity.core.errors import InputError

TABLE = pa.table(
    {"n": [1, 2, 3], "words": [["a"], [], ["b", "c"]]}, metadata={"exparity.seed": "3"}
)
EMPTY = TABLE.slice(0, 0)
SEAL = 112  # bytes: two marks and three digests


@pytest.fixture
def path(tmp_path):
    write_sealed(TABLE, tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def read(path):
    with open_sealed(path) as file:
        return file.read()


@pytest.mark.contract
class TestOthersRead:
    @pytest.mark.parametrize("table", [TABLE, EMPTY])
    def test_others_read_the_table_that_was_written(self, table, tmp_path):
        path = tmp_path / "t.parquet"
        write_sealed(table, path)
        assert read(path).equals(table)
        assert pq.read_table(path).equals(table)
        assert read(path).schema.metadata == table.schema.metadata
        assert pyarrow.dataset.dataset(path).to_table().equals(table)
        assert pd.read_parquet(path)["n"].tolist() == table["n"].to_pylist()

    def test_what_they_write_from_it_has_no_seal(self, path):
        pq.write_table(pq.read_table(path).slice(1), path)
        assert read(path)["n"].to_pylist() == [2, 3]
        assert read_seal(path) is None


@pytest.mark.contract
def test_pages_without_a_seal_are_verified_where_they_have_checksums(tmp_path):
    path = tmp_path / "t.parquet"
    table = pa.table({"n": list(range(9000))})
    pq.write_table(table, path, write_page_checksum=True, use_dictionary=False)
    assert read(path).equals(table)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"t\.parquet: .*CRC checksum verification failed"):
        read(path)


@pytest.mark.contract
class TestDigests:
    @pytest.mark.parametrize("lineage", ["", "ab" * 32])
    def test_are_those_of_lineage_pages_and_footer(self, path, lineage):
        write_sealed(TABLE, path, lineage)
        content = path.read_bytes()
        size = int.from_bytes(content[-8:-4], "little") + 8
        pages, seal = content[: -size - SEAL], content[-size - SEAL : -size]
        assert seal[8:40] == bytes.fromhex(lineage or "00" * 32)
        assert seal[40:72] == sha256(pages).digest()
        assert seal[72:104] == sha256(seal[8:72] + content[-size:]).digest()
        assert read_seal(path) == (lineage, seal[72:104].hex())
        assert read(path).equals(TABLE)

    def test_a_footer_is_verified_without_the_pages(self, path):
        whole = path.read_bytes()
        path.write_bytes(b"\0" * 60 + whole[60:])
        assert read_metadata(path).metadata[b"exparity.seed"] == b"3"
        end = int.from_bytes(whole[-8:-4], "little") + 8 + SEAL
        path.write_bytes(whole[-end:])  # and these alone
        assert read_metadata(path).num_rows == 3
        for flip in rotten(path, 100):
            with pytest.raises(InputError, match="delete it and run again"):
                pytest.fail(f"{flip}: {read_metadata(path)}")
