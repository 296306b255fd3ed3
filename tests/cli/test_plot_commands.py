"""`wordtide plot`: every figure in every format; what cannot be drawn leaves no file."""

import struct
import xml.etree.ElementTree as ET

import pytest
from cli.command_line import listing, run, run_process
from embeddings.models import model_of
from matplotlib.figure import Figure
from observers import RecordingObserver

import wordtide
from wordtide.figures import plots
from wordtide.figures.map_figure import map_of

STEAM = "Steam power drives the mill by the river. The old mill grinds corn by steam and by the river. "
LAW = "The king made a law for the mill. The law of the river is old and the king drives a hard bargain. "
SLICES = 14
METHODS = ("smoothing", "filtering", "independent")
EXIT_USAGE, EXIT_INPUT, EXIT_OUTPUT, EXIT_FOLDER = 2, 3, 4, 5
SCORES = "method,time,log_likelihood,pairs\n" + "".join(
    f"{m},{1850 + t},-{2 + t / 50},{100 + t}\n" for m in METHODS for t in range(9)
)
#: Each command, after which the folder of models M is put into the arguments.
COMMANDS = {
    "timeline": ["timeline", "M/smoothing"],
    "timeline of words": ["timeline", "M/smoothing", "mill", "LAW", "--since", "1852", "--until", "1860.5"],
    "timeline without posterior": ["timeline", "M/independent", "mill"],
    "similarity": ["similarity", "M/smoothing", "mill", "steam", "law"],
    "similarity by methods": [
        "similarity",
        "M/smoothing",
        "mill",
        "law",
        "--with",
        "M/filtering",
        "--with",
        "M/independent",
    ],
    "displacement": ["displacement", "M/smoothing", "M/filtering", "M/independent"],
    "displacement from a slice": ["displacement", "M/filtering", "--start", "1850"],
    "likelihood": ["likelihood", "M/scores.csv"],
    "map": ["map", "M/smoothing", "--at", "1850", "--at", "last"],
    "map with names": ["map", "M/smoothing", "mill", "law", "--top", "12", "--seed", "3"],
}
#: What is refused: the exit code, and a piece of the message.
REFUSED = {
    ("timeline", "M/smoothing", "stean"): (EXIT_USAGE, "'stean' is not in the vocabulary"),
    ("timeline", "M/smoothing", *["mill"] * 13): (EXIT_USAGE, "13 words do not fit into one figure"),
    ("timeline", "M/smoothing", "--top", "13"): (EXIT_USAGE, "13 words do not fit into one figure"),
    ("timeline", "M/smoothing", "--top", "0"): (EXIT_USAGE, "Give 1 or more"),
    ("timeline", "M/smoothing", "--since", "1860", "--until", "1851"): (EXIT_USAGE, "Give a later time"),
    ("timeline", "M/smoothing", "--since", "soon"): (EXIT_USAGE, "'soon' is not a time"),
    ("timeline", "M/nowhere"): (EXIT_FOLDER, "nowhere"),
    ("timeline", "M"): (EXIT_FOLDER, "models"),
    ("similarity", "M/smoothing", "mill", "stean"): (EXIT_USAGE, "'stean' is not in the vocabulary"),
    ("similarity", "M/smoothing", "mill", *"the by old river steam law king corn".split()): (
        EXIT_USAGE,
        "8 lines in one panel",
    ),
    ("similarity", "M/smoothing", "mill", "law", "--with", "M/smoothing"): (EXIT_USAGE, "have the same name"),
    ("similarity", "M/smoothing", "mill", "law", "--with", "M/nowhere"): (EXIT_FOLDER, "nowhere"),
    ("displacement", "M/smoothing", "--start", "last"): (EXIT_USAGE, "is followed by 0 slices"),
    ("displacement", "M/smoothing", "--start", "1850.111"): (EXIT_USAGE, "No slice lies at 1850.111"),
    ("displacement", "M/smoothing", "M/nowhere"): (EXIT_FOLDER, "nowhere"),
    ("likelihood", "M/bad.csv"): (EXIT_INPUT, "bad.csv, line 2: log_likelihood is 'oops'"),
    ("likelihood", "M/nowhere.csv"): (EXIT_INPUT, "nowhere.csv does not exist"),
    ("likelihood", "M/smoothing/arrays.safetensors"): (EXIT_INPUT, "not a text file in UTF-8"),
    ("map", "M/smoothing", "stean"): (EXIT_USAGE, "'stean' is not in the vocabulary"),
    ("map", "M/smoothing", "--top", "3"): (EXIT_USAGE, "3 words are too few for a map"),
    ("map", "M/smoothing", "--at", "1860", "--at", "1850"): (EXIT_USAGE, "from early to late"),
    ("map", "M/smoothing", "--seed", "-1"): (EXIT_USAGE, "A seed of -1"),
    ("map", "M/smoothing", "--dpi", "10"): (EXIT_USAGE, "A resolution of 10 dots per inch is out of range"),
    ("timeline", "M/smoothing", "--dpi", "100000"): (EXIT_USAGE, "50 to 1200 dots"),
}
HOSTILE = {
    "formula": "$x$",
    "half a formula": "$\\frac{",
    "right to left": "שלום",
    "joined right to left": "مرحبا",
    "emoji": "🙂",
    "very long": "w" * 400,
    "markup": "</text>&<b>",
    "wide": "漢字",
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder with a model of each method, a file of scores and a bad one."""
    place = tmp_path_factory.mktemp("plots") / "models"
    place.mkdir()
    texts = [(f"{1850 + t}-07-02", STEAM * (10 * (SLICES - t)) + LAW * (10 * t + 10)) for t in range(SLICES)]
    counts = wordtide.count(texts)
    for method in METHODS:
        wordtide.fit(counts, output=place / method, method=method, dim=4, threads=1)
    (place / "scores.csv").write_text(SCORES, encoding="utf-8")
    (place / "bad.csv").write_text("method,time,log_likelihood,pairs\na,1850,oops,5\n", encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def hostile_model(tmp_path_factory):
    """A model whose words are hard to draw, all of them in all slices."""
    folder = tmp_path_factory.mktemp("hostile") / "model"
    plain = [f"plain{number}" for number in range(8)]
    model_of("smoother", {word: list(range(8)) for word in (*HOSTILE.values(), *plain)}, seed=1).save(folder)
    return folder


def plot(models, arguments, output):
    return run(
        "plot",
        *(str(part).replace("M", str(models), 1) if str(part)[:1] == "M" else part for part in arguments),
        "-o",
        output,
    )


def size_of_png(data):
    """Width and height, after a look at the signature and at the end."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert data[-8:-4] == b"IEND"
    return struct.unpack(">II", data[16:24])


@pytest.mark.parametrize("name", COMMANDS)
def test_a_png_has_the_width_of_a_page_at_300_dots_an_inch(models, tmp_path, name):
    done = plot(models, COMMANDS[name], tmp_path / "figure.png")
    assert done.code == 0, done.err
    width, height = size_of_png((tmp_path / "figure.png").read_bytes())
    assert (width, height > 300) == (2100, True)


@pytest.mark.parametrize("name", COMMANDS)
def test_dots_an_inch_can_be_chosen(models, tmp_path, name):
    plot(models, [*COMMANDS[name], "--dpi", "100"], tmp_path / "figure.png")
    assert size_of_png((tmp_path / "figure.png").read_bytes())[0] == 700


@pytest.mark.parametrize("name", COMMANDS)
def test_an_svg_is_an_xml_document_that_draws(models, tmp_path, name):
    done = plot(models, COMMANDS[name], tmp_path / "figure.svg")
    assert done.code == 0, done.err
    root = ET.parse(tmp_path / "figure.svg").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert len(list(root.iter("{http://www.w3.org/2000/svg}path"))) > 5


@pytest.mark.parametrize("name", COMMANDS)
def test_a_pdf_is_one(models, tmp_path, name):
    done = plot(models, COMMANDS[name], tmp_path / "figure.pdf")
    assert done.code == 0, done.err
    data = (tmp_path / "figure.pdf").read_bytes()
    assert (data[:5], data.rstrip()[-5:]) == (b"%PDF-", b"%%EOF")


@pytest.mark.parametrize("name", COMMANDS)
def test_only_the_figure_is_written_and_it_is_named_on_standard_error(models, tmp_path, name):
    done = plot(models, COMMANDS[name], tmp_path / "figure.svg")
    assert (done.out, listing(tmp_path)) == ("", ["figure.svg"])
    assert done.err == f"written to {tmp_path / 'figure.svg'}\n"


@pytest.mark.parametrize(
    "figure",
    [
        lambda folder, one: plots.timeline(one),
        lambda folder, one: plots.timeline(one, ["mill"], since=1851, until="last"),
        lambda folder, one: plots.similarity(one, "mill", ["law"]),
        lambda folder, one: plots.similarity({"one": one, "two": one}, "mill", ["law", "steam"]),
        lambda folder, one: plots.displacement(one),
        lambda folder, one: plots.displacement({"one": one, "two": one}, start=1850),
        lambda folder, one: plots.likelihood(folder / "scores.csv"),
        lambda folder, one: map_of(one, [1850, 1860])[0],
    ],
)
def test_python_gives_figure_objects(models, figure):
    assert isinstance(figure(models, wordtide.load(models / "smoothing")), Figure)


@pytest.mark.parametrize("arguments", REFUSED, ids=lambda arguments: " ".join(arguments)[:70])
def test_what_cannot_be_drawn_gives_one_message_and_its_exit_code(models, tmp_path, arguments):
    done = plot(models, arguments, tmp_path / "figure.png")
    problem, remedy = done.err.splitlines()
    assert (done.code, done.out) == (REFUSED[arguments][0], "")
    assert problem.startswith("wordtide: ")
    assert REFUSED[arguments][1] in problem + remedy


@pytest.mark.parametrize("arguments", REFUSED, ids=lambda arguments: " ".join(arguments)[:70])
def test_what_cannot_be_drawn_leaves_the_figure_that_was_there(models, tmp_path, arguments):
    (tmp_path / "figure.png").write_text("before", encoding="utf-8")
    plot(models, arguments, tmp_path / "figure.png")
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == {
        "figure.png": "before"
    }


@pytest.mark.parametrize("name", ["figure.jpg", "figure", "figure.PNG.gz"])
@pytest.mark.parametrize("command", ["timeline", "similarity", "displacement", "likelihood", "map"])
def test_an_unknown_format_is_wrong_usage_and_names_the_known_ones(models, tmp_path, command, name):
    done = plot(models, COMMANDS[command], tmp_path / name)
    assert (done.code, listing(tmp_path), len(done.err.splitlines())) == (EXIT_USAGE, [], 2)
    assert "Use .png, .svg or .pdf." in done.err


def test_the_output_is_checked_before_the_model_is_read(models, tmp_path):
    assert "figure.jpg" in plot(models, ["map", "M/nowhere"], tmp_path / "figure.jpg").err


@pytest.mark.parametrize("command", ["timeline", "similarity", "displacement", "likelihood", "map"])
def test_a_folder_that_is_missing_is_an_output_error_with_the_line_that_makes_it(models, tmp_path, command):
    done = plot(models, COMMANDS[command], tmp_path / "missing" / "figure.png")
    assert (done.code, listing(tmp_path), len(done.err.splitlines())) == (EXIT_OUTPUT, [], 2)
    assert f"mkdir -p {tmp_path / 'missing'}" in done.err


def test_a_folder_in_the_place_of_the_figure_is_an_output_error(models, tmp_path):
    (tmp_path / "figure.png").mkdir()
    done = plot(models, COMMANDS["likelihood"], tmp_path / "figure.png")
    assert (done.code, "is not a file" in done.err) == (EXIT_OUTPUT, True)


def test_the_output_must_be_named(models):
    done = run("plot", "timeline", models / "smoothing")
    assert (done.code, done.out, "--output" in done.err) == (EXIT_USAGE, "", True)


def test_a_figure_that_does_not_exist_is_wrong_usage():
    done = run("plot", "pie")
    assert (done.code, "pie" in done.err) == (EXIT_USAGE, True)


def test_a_time_after_the_last_slice_is_said_to_be_a_prediction(models, tmp_path):
    done = plot(models, ["timeline", "M/smoothing", "mill", "--until", "1880"], tmp_path / "figure.svg")
    assert done.code == 0
    assert "after the last slice (1863): a prediction" in done.err


def test_models_of_one_method_are_told_apart_by_their_folders(models, tmp_path):
    for name in ("one/model", "two/model", "other"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).symlink_to(models / "smoothing")
    named = plots.named_by_method(
        [wordtide.load(tmp_path / name) for name in ("one/model", "two/model", "other")]
    )
    assert list(named) == ["smoothing (one/model)", "smoothing (two/model)", "smoothing (other)"]


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
@pytest.mark.parametrize("word", HOSTILE.values(), ids=HOSTILE)
def test_hostile_words_are_drawn_in_lines(hostile_model, tmp_path, word, ending):
    done = run(
        "plot", "similarity", hostile_model, "plain1", "plain2", word, "-o", tmp_path / f"figure.{ending}"
    )
    assert (done.code, listing(tmp_path)) == (0, [f"figure.{ending}"]), done.err


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
@pytest.mark.parametrize("command", ["timeline", "map"])
def test_hostile_words_are_drawn_beside_each_other(hostile_model, tmp_path, command, ending):
    done = run("plot", command, hostile_model, *HOSTILE.values(), "-o", tmp_path / f"figure.{ending}")
    assert (done.code, listing(tmp_path)) == (0, [f"figure.{ending}"]), done.err


def test_hostile_words_are_text_in_an_svg_and_no_markup(hostile_model, tmp_path):
    run(
        "plot",
        "similarity",
        hostile_model,
        HOSTILE["markup"],
        HOSTILE["formula"],
        "-o",
        tmp_path / "figure.svg",
    )
    texts = {text.text for text in ET.parse(tmp_path / "figure.svg").iter("{http://www.w3.org/2000/svg}text")}
    assert {HOSTILE["markup"], HOSTILE["formula"]} <= texts


def test_a_process_of_its_own_ends_with_the_same_code_and_one_message(models, tmp_path):
    done = run_process("plot", "timeline", models / "smoothing", "stean", "-o", tmp_path / "figure.png")
    assert (done.code, len(done.err.splitlines()), listing(tmp_path)) == (EXIT_USAGE, 2, [])


@pytest.fixture
def recorded(monkeypatch):
    observer = RecordingObserver()
    monkeypatch.setattr("wordtide.cli.commands.plot.ProgressBar", lambda: observer)
    return observer


@pytest.mark.parametrize(("name", "steps"), [("timeline of words", 2), ("displacement", 3)])
def test_long_figures_report_each_step_inside_a_bar_that_runs_from_the_beginning(
    models, tmp_path, recorded, name, steps
):
    plot(models, COMMANDS[name], tmp_path / "figure.svg")
    assert recorded.stages == [["drawing", 0, 0, 0], ["drawing", steps, steps, 1]]
    assert recorded.finished


def test_a_bar_goes_away_when_the_figure_cannot_be_drawn(models, tmp_path, recorded):
    assert (
        run("plot", "timeline", models / "smoothing", "stean", "-o", tmp_path / "figure.svg").code
        == EXIT_USAGE
    )
    assert recorded.stages == [["drawing", 0, 0, 0]]
    assert recorded.finished
