"""Exported files, read by gensim, NumPy, pandas, Polars, Arrow, and readers of TSV."""

import csv
import tracemalloc
from dataclasses import replace

import numpy as np
import pandas
import polars
import pyarrow.parquet as pq
import pytest
from embeddings.models import KINDS, PLACES, TIMES, WORDS, diffusion_of, model_of, posterior_of
from gensim.models import KeyedVectors

from wordtide.embeddings import smoothed
from wordtide.errors import InputError, SettingsError, UnknownWordError
from wordtide.exports import array_formats as tables
from wordtide.exports.export import export
from wordtide.exports.text_formats import save_word2vec
from wordtide.progress import Observer
from wordtide.spelling import read_words

YEAR = 1854.0
VECTORS = ("word", "context", "sum")


def many_words(kind="smoother", words=60, dim=8):
    """A model of so many words that neighbour lists are no accident."""
    places = {f"word{number}": [number % 8, 7] if number % 8 < 7 else [7] for number in range(words)}
    return model_of(kind, places, posterior=posterior_of(kind, places, dim))


def renamed(model, **spellings):
    """The same model with some words spelled otherwise."""
    words = [spellings.get(word, word) for word in model.words]
    return type(model)(replace(model.fitted, words=words))


def means_of(model, vectors, year=YEAR):
    """The vectors as they should be written, (L, d) float64."""
    means = {
        "word": np.array([model.mean(word, year) for word in model.words]),
        "context": np.array([model.context_mean(word, year) for word in model.words]),
    }
    return means[vectors] if vectors != "sum" else means["word"] + means["context"]


def deviations_of(model, vectors, year=YEAR):
    variances = {
        "word": np.array([model.variance(word, year) for word in model.words]),
        "context": np.array([model.context_variance(word, year) for word in model.words]),
    }
    return np.sqrt(variances[vectors] if vectors != "sum" else variances["word"] + variances["context"])


class Listener(Observer):
    def __init__(self):
        self.heard, self.steps = [], 0

    def message(self, text):
        self.heard.append(text)

    def step(self, amount=1, status=""):
        self.steps += amount


def told(*arguments, **options):
    """What an export tells its user."""
    listener = Listener()
    export(*arguments, observer=listener, **options)
    return listener.heard


@pytest.fixture(params=[False, True], ids=["text", "binary"])
def to(request):
    return "word2vec-binary" if request.param else "word2vec"


def by_gensim(path, to):
    return KeyedVectors.load_word2vec_format(path, binary=to == "word2vec-binary")


@pytest.mark.parametrize("vectors", VECTORS)
@pytest.mark.parametrize("kind", KINDS)
def test_gensim_reads_every_vector(tmp_path, to, kind, vectors):
    model = many_words(kind)
    export(model, tmp_path / "out", to, YEAR, vectors)
    np.testing.assert_allclose(
        by_gensim(tmp_path / "out", to).vectors, means_of(model, vectors), rtol=1e-6, atol=1e-7
    )


def test_gensim_reads_the_bits_of_the_state(tmp_path, to):
    model = many_words()
    export(model, tmp_path / "out", to, YEAR, "word")
    assert by_gensim(tmp_path / "out", to).vectors.tobytes() == model.at(YEAR).U.tobytes()


def test_gensim_reads_the_words_in_the_order_of_the_vocabulary(tmp_path, to):
    export(many_words(), tmp_path / "out", to, YEAR)
    assert by_gensim(tmp_path / "out", to).index_to_key == many_words().words


def test_gensim_finds_the_neighbours_that_the_cosine_gives(tmp_path, to):
    model = many_words()
    export(model, tmp_path / "out", to, YEAR, "sum")
    unit = means_of(model, "sum") / np.linalg.norm(means_of(model, "sum"), axis=1, keepdims=True)
    ranked = [model.words[number] for number in np.argsort(-(unit @ unit[3]), kind="stable") if number != 3]
    assert [word for word, _ in by_gensim(tmp_path / "out", to).most_similar("word3", topn=20)] == ranked[:20]


def test_every_float_comes_back_from_text_bit_for_bit(tmp_path):
    bits = np.random.default_rng(0).integers(0, 1 << 32, 60_000, dtype=np.uint32).view(np.float32)
    numbers = np.concatenate(
        [bits[np.isfinite(bits)], np.float32([0, -0.0, 1e-45, 3.4028235e38, 0.1, 16777216])]
    )
    vectors = numbers[: len(numbers) // 50 * 50].reshape(-1, 50)
    save_word2vec(tmp_path / "out", [f"w{number}" for number in range(len(vectors))], vectors)
    assert by_gensim(tmp_path / "out", "word2vec").vectors.tobytes() == vectors.tobytes()


def test_the_text_has_the_fewest_digits(tmp_path):
    save_word2vec(tmp_path / "out", ["mill", "river"], np.float32([[0.1, -2.5], [1e-5, 3.0]]))
    assert (tmp_path / "out").read_text() == "2 2\nmill 0.1 -2.5\nriver 1e-05 3.0\n"


def test_binary_vectors_end_with_a_line_break_as_the_original_program_writes_them(tmp_path):
    vectors = np.float32([[0.1, -2.5], [1e-5, 3.0]])
    save_word2vec(tmp_path / "out", ["mill", "fluß"], vectors, binary=True)
    rows = [b"mill " + vectors[0].tobytes(), "fluß ".encode() + vectors[1].tobytes()]
    assert (tmp_path / "out").read_bytes() == b"2 2\n" + b"\n".join(rows) + b"\n"


SPACED = {"once": "New York", "never": "a\u00a0b\tc", "early": "x\u2028y"}


def test_gensim_reads_words_with_white_space_as_words_with_a_low_line(tmp_path, to):
    export(renamed(model_of("smoother"), **SPACED), tmp_path / "out", to, YEAR)
    read = by_gensim(tmp_path / "out", to).index_to_key
    assert read == ["always", "gaps", "New_York", "a_b_c", "x_y", "late", "middle"]


@pytest.mark.parametrize("to", ["word2vec", "word2vec-binary", "projector"])
def test_words_with_white_space_are_told(tmp_path, to):
    heard = told(renamed(model_of("smoother"), **SPACED), tmp_path / "out", to, YEAR)
    assert heard[-1] == "White space in 3 words is written as _."


@pytest.mark.parametrize("to", ["word2vec", "word2vec-binary", "projector"])
@pytest.mark.parametrize("spellings", [{"once": "a b", "late": "a_b"}, {"once": ""}, {"once": "\ud800"}])
def test_words_that_a_file_cannot_tell_apart_or_hold_are_refused(tmp_path, to, spellings):
    with pytest.raises(SettingsError, match="written as"):
        export(renamed(model_of("smoother"), **spellings), tmp_path / "out", to, YEAR)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("to", ["npz", "dwe"])
def test_a_word_that_numpy_would_shorten_is_refused(tmp_path, to):
    with pytest.raises(SettingsError, match="NumPy archive"):
        export(renamed(model_of("smoother"), once="a\0"), tmp_path / "out", to, None if to == "dwe" else YEAR)
    assert list(tmp_path.iterdir()) == []


def test_vectors_of_zeros_are_told(tmp_path, to):
    heard = told(model_of("filter"), tmp_path / "out", to, TIMES[0], "word")
    assert heard == ["4 of 7 words are not known at this time: their vectors are zeros."]


def test_numpy_reads_the_whole_state(tmp_path):
    model = model_of("smoother")
    export(model, tmp_path / "out", "npz", YEAR)
    state = model.at(YEAR)
    with np.load(tmp_path / "out", allow_pickle=False) as read:
        assert read["words"].tolist() == WORDS
        assert (float(read["time"]), str(read["label"])) == (YEAR, "slice 3")
        for name in ("U", "V", "occurrences", "predicted"):
            np.testing.assert_array_equal(read[name], getattr(state, name), strict=True)
        for name in ("U", "V"):
            np.testing.assert_array_equal(
                read[f"{name}_sd"], np.sqrt(getattr(state, f"{name}_variance")), strict=True
            )


def test_point_estimates_have_no_standard_deviations_in_an_archive(tmp_path):
    export(model_of("point"), tmp_path / "out", "npz", YEAR)
    export(model_of("point"), tmp_path / "all", "dwe")
    with np.load(tmp_path / "out") as one, np.load(tmp_path / "all") as whole:
        assert not {"U_sd", "V_sd", "sd"} & {*one, *whole}


def test_off_the_grid_the_label_is_empty(tmp_path):
    export(model_of("smoother"), tmp_path / "out", "npz", 1857.5)
    with np.load(tmp_path / "out") as read:
        assert (float(read["time"]), str(read["label"]), read["occurrences"].tolist()) == (
            1857.5,
            "",
            [0] * 7,
        )


@pytest.mark.parametrize("vectors", VECTORS)
@pytest.mark.parametrize("kind", ["filter", "smoother"])
def test_the_whole_trajectory_is_in_one_archive(tmp_path, kind, vectors):
    model = model_of(kind)
    export(model, tmp_path / "out", "dwe", vectors=vectors)
    with np.load(tmp_path / "out", allow_pickle=False) as read:
        assert (read["words"].tolist(), read["labels"].tolist(), str(read["vectors"])) == (
            WORDS,
            model.labels,
            vectors,
        )
        np.testing.assert_array_equal(read["times"], TIMES)
        assert read["mean"].dtype == read["sd"].dtype == np.float32
        np.testing.assert_allclose(
            read["mean"], [means_of(model, vectors, year) for year in TIMES], rtol=1e-6, atol=1e-7
        )
        np.testing.assert_allclose(
            read["sd"], [deviations_of(model, vectors, year) for year in TIMES], rtol=1e-5
        )


def test_the_whole_trajectory_is_never_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(smoothed, "BYTES_AT_ONCE", 1 << 16)
    times, places = np.arange(1500.0, 1900.0), {f"word{number}": [0, 399] for number in range(50)}
    model = model_of("smoother", places, diffusion_of(times), posterior=posterior_of("smoother", places, 20))
    export(model, tmp_path / "warm", "dwe", top=1)
    tracemalloc.start()
    export(model, tmp_path / "out", "dwe")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < (tmp_path / "out").stat().st_size / 3


def test_the_size_of_a_whole_trajectory_is_told_and_true(tmp_path):
    places = {f"word{number}": [0, 7] for number in range(2000)}
    model = model_of("smoother", places, posterior=posterior_of("smoother", places, 20))
    heard = told(model, tmp_path / "out", "dwe")
    assert heard == ["8 slices x 2,000 words x 20 dimensions: about 3 MB"]
    assert 2.5e6 < (tmp_path / "out").stat().st_size < 3e6


def long_table(model, vectors, years):
    """The table as it should be, row by row."""
    means = np.array([means_of(model, vectors, year) for year in years])
    deviations = np.array([deviations_of(model, vectors, year) for year in years])
    return [
        (word, year, k, means[t, i, k], deviations[t, i, k])
        for t, year in enumerate(years)
        for i, word in enumerate(model.words)
        for k in range(model.dim)
    ]


def assert_same_table(frame, rows):
    words, years, ks, means, deviations = zip(*rows, strict=True)
    assert list(frame.columns) == ["word", "time", "k", "mean", "sd"]
    assert (list(frame["word"]), list(frame["time"]), list(frame["k"])) == (
        list(words),
        list(years),
        list(ks),
    )
    np.testing.assert_allclose(frame["mean"], means, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(frame["sd"], deviations, rtol=1e-5)


@pytest.mark.parametrize(
    "read", [pandas.read_parquet, polars.read_parquet, lambda path: pq.read_table(path).to_pandas()]
)
@pytest.mark.parametrize("at", [YEAR, None])
def test_pandas_polars_and_arrow_read_the_long_table(tmp_path, monkeypatch, read, at):
    monkeypatch.setattr(tables, "ROWS_IN_A_GROUP", 7)  # two words of three dimensions
    model = model_of("smoother")
    export(model, tmp_path / "out", "parquet", at, "sum")
    assert_same_table(read(tmp_path / "out"), long_table(model, "sum", TIMES if at is None else [YEAR]))


def test_the_table_is_written_in_groups_of_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "ROWS_IN_A_GROUP", 7)
    export(model_of("smoother"), tmp_path / "out", "parquet")
    read = pq.read_metadata(tmp_path / "out")
    assert [read.row_group(number).num_rows for number in range(read.num_row_groups)] == [6, 6, 6, 3] * 8


def test_the_table_is_compressed_by_zstd(tmp_path):
    export(model_of("smoother"), tmp_path / "out", "parquet", YEAR)
    group = pq.read_metadata(tmp_path / "out").row_group(0)
    assert {group.column(number).compression for number in range(5)} == {"ZSTD"}


def test_point_estimates_have_no_standard_deviations_in_a_table(tmp_path):
    export(model_of("point"), tmp_path / "out", "parquet", YEAR)
    assert pq.read_table(tmp_path / "out")["sd"].null_count == 21


def read_tsv(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.mark.parametrize("name", ["out", "out.tsv", "out.vectors.tsv"])
def test_the_projector_gets_a_pair_of_files(tmp_path, name):
    written = export(model_of("smoother"), tmp_path / name, "projector", YEAR)
    assert written == [tmp_path / "out.vectors.tsv", tmp_path / "out.metadata.tsv"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.metadata.tsv", "out.vectors.tsv"]


@pytest.mark.parametrize("vectors", VECTORS)
def test_the_projector_reads_the_vectors(tmp_path, vectors):
    model = model_of("smoother")
    export(model, tmp_path / "out", "projector", YEAR, vectors)
    read = np.array(read_tsv(tmp_path / "out.vectors.tsv"), dtype=np.float32)
    np.testing.assert_array_equal(read, means_of(model, vectors).astype(np.float32))


def test_the_projector_reads_what_each_vector_is(tmp_path):
    model = renamed(model_of("smoother"), gaps='say "no"', once='"')
    export(model, tmp_path / "out", "projector", YEAR, "word")
    header, *rows = read_tsv(tmp_path / "out.metadata.tsv")
    assert header == ["word", "occurrences", "sd"]
    assert [row[0] for row in rows] == ["always", 'say_"no"', '"', *WORDS[3:]]
    assert [int(row[1]) for row in rows] == model.at(YEAR).occurrences.tolist()
    spread = np.sqrt(np.mean(deviations_of(model, "word") ** 2, axis=1))
    np.testing.assert_allclose([float(row[2]) for row in rows], spread, rtol=1e-5)


def test_point_estimates_have_no_standard_deviations_in_the_projector(tmp_path):
    export(model_of("point"), tmp_path / "out", "projector", YEAR)
    assert read_tsv(tmp_path / "out.metadata.tsv")[:2] == [["word", "occurrences"], ["always", "4"]]


def kept(tmp_path, **options):
    """The words in an export."""
    export(model_of("smoother"), tmp_path / "out", "word2vec", YEAR, **options)
    return by_gensim(tmp_path / "out", "word2vec").index_to_key


def test_given_words_are_kept_in_the_order_of_the_vocabulary(tmp_path):
    assert kept(tmp_path, words=["late", "GAPS", "late", "always"]) == ["always", "gaps", "late"]


def test_the_most_frequent_words_are_kept_in_the_order_of_the_vocabulary(tmp_path):
    totals = {word: model_of("smoother").occurrences(word).sum() for word in PLACES}
    most = sorted(totals, key=totals.get)[-4:]
    assert kept(tmp_path, top=4) == [word for word in WORDS if word in most] != WORDS[:4]


def test_kept_words_have_their_own_vectors(tmp_path, to):
    model = model_of("smoother")
    export(model, tmp_path / "out", to, YEAR, vectors="word", words=["late", "gaps"])
    np.testing.assert_allclose(by_gensim(tmp_path / "out", to)["late"], model.mean("late", YEAR), rtol=1e-6)


def test_a_word_that_is_not_there_is_refused_with_the_nearest_spelling(tmp_path):
    with pytest.raises(UnknownWordError, match="middle"):
        export(model_of("smoother"), tmp_path / "out", "word2vec", YEAR, words=["midle"])


def test_words_are_read_from_a_file_line_by_line(tmp_path):
    (tmp_path / "words.txt").write_bytes("\ufefflate\r\n\r\n  gaps \n".encode())
    assert read_words(tmp_path / "words.txt") == ["late", "gaps"]


@pytest.mark.parametrize("content", [None, b"", b"\n \n", b"\xff\n"])
def test_a_file_without_words_is_refused(tmp_path, content):
    if content is not None:
        (tmp_path / "words.txt").write_bytes(content)
    with pytest.raises(InputError, match=r"words\.txt .*(does not exist|no words|cannot be read)"):
        read_words(tmp_path / "words.txt")


REFUSED = {
    "format": ({"to": "glove", "at": YEAR}, "no export to 'glove'"),
    "vectors": ({"to": "word2vec", "at": YEAR, "vectors": "sums"}, "'sums' is not a kind of vector"),
    "two ways to choose": ({"to": "word2vec", "at": YEAR, "words": ["late"], "top": 3}, "words= and top="),
    "no words": ({"to": "word2vec", "at": YEAR, "words": []}, "empty"),
    "top 0": ({"to": "word2vec", "at": YEAR, "top": 0}, "top=0"),
    "no time": ({"to": "word2vec"}, "to='word2vec' writes one time"),
    "no time (binary)": ({"to": "word2vec-binary"}, "to='word2vec-binary' writes one time"),
    "no time (npz)": ({"to": "npz"}, "to='npz' writes one time"),
    "no time (projector)": ({"to": "projector"}, "to='projector' writes one time"),
    "time of all": ({"to": "dwe", "at": YEAR}, "to='dwe' writes all slices"),
    "both sides": ({"to": "npz", "at": YEAR, "vectors": "context"}, "both word and context vectors"),
    "not a time": ({"to": "npz", "at": "soon"}, "not a time"),
}


@pytest.mark.parametrize(("options", "problem"), REFUSED.values(), ids=REFUSED)
def test_options_that_cannot_be_used_are_refused(tmp_path, options, problem):
    with pytest.raises(SettingsError, match=problem) as refused:
        export(model_of("smoother"), tmp_path / "out", **options)
    assert refused.value.remedy
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_the_name_of_a_compressed_file_is_refused(tmp_path, suffix):
    with pytest.raises(SettingsError, match="compressed"):
        export(model_of("smoother"), tmp_path / f"out.txt{suffix}", "word2vec", YEAR)


@pytest.mark.parametrize("at", [1840.0, 1890.0])
def test_a_time_outside_the_slices_is_told_to_be_a_prediction(tmp_path, at):
    heard = told(model_of("smoother"), tmp_path / "out", "npz", at)
    assert heard == [
        f"{at:.2f} is outside the slices, which go from 1850.25 to 1870.50: these vectors are predictions."
    ]


@pytest.mark.parametrize("at", [TIMES[0], 1857.5, TIMES[-1]])
def test_a_time_within_the_slices_needs_no_word(tmp_path, at):
    assert told(model_of("smoother"), tmp_path / "out", "npz", at) == []


@pytest.mark.parametrize(("to", "steps"), [("parquet", 8), ("dwe", 16)])
def test_progress_reaches_its_end(tmp_path, to, steps):
    listener = Listener()
    export(model_of("smoother"), tmp_path / "out", to, observer=listener)
    assert listener.steps == steps


@pytest.mark.parametrize("vectors", ["word", "context", "sum"])
def test_a_state_saves_itself_for_gensim(tmp_path, vectors):
    state = model_of("smoother").at(YEAR)
    state.save_word2vec_format(tmp_path / "out.txt", vectors=vectors)
    expected = {"word": state.U, "context": state.V, "sum": state.U + state.V}[vectors]
    saved = by_gensim(tmp_path / "out.txt", "word2vec")
    assert saved.index_to_key == state.words
    assert (saved.vectors == expected).all()


def test_a_state_has_no_other_vectors_to_save(tmp_path):
    with pytest.raises(SettingsError, match="'both' is not a kind of vector"):
        model_of("smoother").at(YEAR).save_word2vec_format(tmp_path / "out.txt", vectors="both")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", KINDS)
def test_gensim_reads_what_is_written_for_it(tmp_path, kind):
    model = many_words(kind)
    heard = told(model, tmp_path / "out.bin", "gensim", YEAR, "word")
    vectors = KeyedVectors.load_word2vec_format(str(tmp_path / "out.bin"), binary=True)
    assert (vectors.index_to_key, heard[-1].startswith("read it with KeyedVectors.")) == (
        list(model.words),
        True,
    )
    np.testing.assert_array_equal(vectors.vectors, means_of(model, "word").astype(np.float32))


@pytest.mark.parametrize("at", [YEAR, None])
@pytest.mark.parametrize("kind", KINDS)
def test_spreadsheets_hold_the_vectors_with_time_and_occurrences(tmp_path, kind, at):
    model = renamed(model_of(kind), once="=1+1")
    export(model, tmp_path / "out.xlsx", "excel", at, "word")
    export(model, tmp_path / "out.csv", "csv", at, "word")
    book = pandas.read_excel(tmp_path / "out.xlsx", keep_default_na=False)
    table = pandas.read_csv(tmp_path / "out.csv", keep_default_na=False)
    times = [YEAR] if at is not None else TIMES
    assert book["word"].tolist() == list(model.words) * len(times)  # a formula is a text
    assert [word.removeprefix("'") for word in table["word"]] == book["word"].tolist()
    for columns in (book, table):
        numbers = columns.filter(regex=r"^v\d+$").to_numpy(dtype=np.float32)
        expected = np.concatenate([means_of(model, "word", time) for time in times])
        np.testing.assert_allclose(numbers, expected, rtol=1e-6, atol=1e-7)
        assert columns["time"].tolist() == np.repeat(times, len(model.words)).tolist()


def test_a_sheet_that_cannot_hold_the_rows_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("wordtide.exports.text_formats.MOST_ROWS", 10)
    with pytest.raises(SettingsError, match="A sheet holds 10 rows"):
        export(model_of("smoother"), tmp_path / "out.xlsx", "excel")
    assert list(tmp_path.iterdir()) == []
