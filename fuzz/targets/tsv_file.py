"""TSV files."""

from targets.reading import read_file

SEEDS = [b'date\ttext\n1862\tsteam power\n1863\t"two\nlines"\n', b"text\tyear\ncaf\xc3\xa9\t1862\rx\t-44\r"]


def try_input(data: bytes) -> None:
    """Read the bytes as TSV."""
    read_file("x.tsv", data, skip_bad=bool(data[-1:] and data[-1] & 1))
