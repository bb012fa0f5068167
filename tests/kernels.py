"""Compile what is compiled, once: otherwise both workers of `make test` would, at the same time.

Small simulated runs reach most loops. What they miss is compiled where a test needs it.
"""

import tempfile
from pathlib import Path

import polars as pl

import copriv as cp
from copriv.api.generate import write_synthetic

RULES = {"squared": ("auto", "averaged", "paper"), "huber": ("auto",), "logistic": ("auto",)}


def main():
    with tempfile.TemporaryDirectory(prefix="copriv-kernels-") as folder:
        public, private = Path(folder) / "public.csv", Path(folder) / "private.csv"
        write_synthetic("lending", {public: 1200, private: 1200}, 0)
        middle = pl.read_csv(private)["int_rate"].median()
        for loss, rules in RULES.items():
            labels = {"positive_above": middle} if loss == "logistic" else {}
            data = cp.read(private, target="int_rate", owners=2, public=public, features=4, **labels)
            for rule in rules:
                cp.train(data, 1.0, simulate=True, loss=loss, rule=rule)
        cp.forecast(public, cp.Scenario(records=[5_000] * 2, epsilon=1.0), target="int_rate")


if __name__ == "__main__":
    main()
