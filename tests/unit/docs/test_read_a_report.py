"""docs/how-to/read-a-report.md is true: its Python runs, and its table names every section of the page."""

import re
from pathlib import Path

import numpy as np
import polars as pl

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "how-to" / "read-a-report.md").read_text(encoding="utf-8")


def test_the_python_of_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = np.random.default_rng(0).normal(size=300)
    table = pl.DataFrame({"x": x, "int_rate": 5 + x, "bank": ["east", "west"] * 150})
    table.write_csv("loans.csv")
    table.drop("bank").write_parquet("public.parquet")
    [code] = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    small = code.replace('public="public.parquet"', 'public="public.parquet", features=1')
    scope = {}
    exec(small.replace("epsilon=1.0", "epsilon=1.0, simulate=True"), scope)  # noqa: S102
    names = {path.name for path in (tmp_path / "reports" / "first").iterdir()}
    assert names == {"report.html", "report-internal.html", "report.json"}
    for section in re.findall(r"^\| ([A-Z][^|]+?) \| ", PAGE.split("## What the sections say")[1], flags=re.MULTILINE):
        assert f">{section}</h" in scope["report"].html, section
