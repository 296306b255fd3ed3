"""JSON Lines, once with bad rows as errors and once with bad rows skipped."""

from targets.reading import read_file

SEEDS = [
    b'{"date": "1862-12-01", "text": "Steam power drives the mill."}\n{"date": 1863, "text": "U.S. mills"}\n',
    b'\xef\xbb\xbf{"year": 1862.0, "body": "caf\\u00e9 \\ud83d\\ude00"}\r\n\n{"year": null, "body": "\\ud800"}\n[1]\n',
    b'{"created_utc": 1400000000, "text": "https://x.org @name 3,000"}\n{"created_utc": 1e300, "text": {"a": []}}',
]


def try_input(data: bytes) -> None:
    """Read the bytes as JSON Lines; the last bit of the first byte tells what becomes of bad rows."""
    read_file("x.jsonl", data, skip_bad=bool(data[:1] and data[0] & 1))
