"""The date and text columns: found by usual names, chosen by the user, or missing."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import wordtide
from wordtide.errors import InputError

USUAL_DATES = (
    "date", "datetime", "timestamp", "time", "created_at", "created", "created_utc", "published", "published_at",
    "publication_date", "year", "month", "day",
)  # fmt: skip
USUAL_TEXTS = ("text", "body", "content", "full_text", "message", "speech", "tweet", "article")


@pytest.mark.parametrize("name", USUAL_DATES)
def test_the_date_is_found_by_its_usual_names(name):
    assert wordtide.count(pa.table({name: ["1862-12-01"], "text": ["Steam"]})).labels == ["1862"]


@pytest.mark.parametrize("name", USUAL_TEXTS)
def test_the_text_is_found_by_its_usual_names(name):
    assert wordtide.count(pa.table({"date": ["1862"], name: ["Steam power"]})).words == ["power", "steam"]


def test_the_case_of_a_usual_name_does_not_matter():
    assert wordtide.count(pa.table({"Created_At": ["1862"], "BODY": ["Steam"]})).words == ["steam"]


def test_chosen_fields_win_over_usual_names():
    table = pa.table({"date": ["1950"], "written": ["1862"], "text": ["New"], "original": ["Old"]})
    counts = wordtide.count(table, date_field="written", text_field="original")
    assert (counts.labels, counts.words) == (["1862"], ["old"])


def test_a_table_with_year_month_and_day_is_not_dated_by_the_day_of_the_month():
    table = pa.table({"year": [1862], "month": [12], "day": [1], "text": ["Steam"]})
    assert wordtide.count(table).labels == ["1862"]


def written(tmp_path, kind, row):
    """A file of one row in the given format."""
    path = tmp_path / f"rows.{kind}"
    if kind == "jsonl":
        path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    elif kind == "parquet":
        pq.write_table(pa.table({name: [value] for name, value in row.items()}), path)
    else:
        delimiter = "," if kind == "csv" else "\t"
        path.write_text(f"{delimiter.join(row)}\n{delimiter.join(row.values())}\n", encoding="utf-8")
    return path


KINDS = ["csv", "tsv", "jsonl", "parquet"]


@pytest.mark.parametrize("kind", KINDS)
def test_fields_may_be_chosen_in_every_format(kind, tmp_path):
    path = written(tmp_path, kind, {"when": "1862", "what": "Steam", "id": "7"})
    assert wordtide.count(path, date_field="when", text_field="what").words == ["steam"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("option", ["date_field", "text_field"])
def test_a_chosen_field_that_is_missing_lists_the_fields_there_are(kind, option, tmp_path):
    path = written(tmp_path, kind, {"date": "1862", "text": "Steam", "id": "7"})
    with pytest.raises(InputError, match=r"no field 'nowhere'[^\n]*\n.*date, text, id") as caught:
        wordtide.count(path, **{option: "nowhere"})
    assert str(path) in caught.value.problem


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("what", "row"), [("date", {"when": "1862", "text": "a"}), ("text", {"date": "1862", "what": "a"})]
)
def test_a_usual_field_that_is_missing_names_the_option_and_lists_the_fields_there_are(
    kind, what, row, tmp_path
):
    path = written(tmp_path, kind, row)
    with pytest.raises(InputError, match=f"looks like the {what}[^\n]*\n.*{', '.join(row)}.*{what}_field="):
        wordtide.count(path)


def test_a_data_frame_without_a_text_lists_its_columns():
    with pytest.raises(InputError, match=r"the data frame[^\n]*\n.*date, id"):
        wordtide.count(pa.table({"date": ["1862"], "id": [1]}))


def test_a_text_column_of_numbers_is_refused_with_its_type():
    with pytest.raises(InputError, match="'text' holds int64"):
        wordtide.count(pa.table({"date": ["1862"], "text": [1]}))


def test_a_pandas_column_of_mixed_types_is_refused_with_a_clear_error():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"date": [1862, "1863-12"], "text": ["Steam", "power"]})
    with pytest.raises(InputError, match="date"):
        wordtide.count(frame)
