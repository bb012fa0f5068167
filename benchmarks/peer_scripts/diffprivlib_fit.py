"""diffprivlib's regressions on all records at once, as a trusted curator would; run by the interpreter that has it.

The bounds are the tightest symmetric ones around the very records, which a curator would not know: that favours it.
They must be symmetric, as 0.6.6 takes the noise of Σx² from the lower bound alone: it is right for (−b, b), too small
for (a, b) with |a| < b, and none for (0, b). The share of coefficients without any noise is answered for both kinds.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
from diffprivlib.models import LinearRegression, LogisticRegression

# Weights of the ridge to choose from, over the one of the fitness.
RIDGES = (1, 3, 10, 30, 100)


def main() -> None:
    """Answer the questions of a folder."""
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    questions = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
    answers = [answer(folder, question) for question in questions]
    (folder / "answers.json").write_text(json.dumps(answers), encoding="utf-8")


def answer(folder: Path, question: dict) -> list[dict]:
    """Models at every ε of one scene."""
    arrays = np.load(folder / question["file"])
    rows, targets = np.ascontiguousarray(arrays["rows"]), arrays["targets"]
    fit = fit_linear if question["loss"] == "squared" else fit_logistic
    return [
        {"epsilon": epsilon, **fit(rows, targets, epsilon, question["runs"], question)}
        for epsilon in question["epsilons"]
    ]


def fit_linear(rows: np.ndarray, targets: np.ndarray, epsilon: float, runs: int, question: dict) -> dict:
    """LinearRegression without intercept, and how much of it is noisy."""
    largest, highest = np.abs(rows).max(axis=0), np.abs(targets).max()
    bounds = {"bounds_X": (-largest, largest), "bounds_y": (-highest, highest)}
    positive = {"bounds_X": (0 * largest, largest), "bounds_y": (-highest, highest)}
    seeds = range(question["seed"] * 1000, question["seed"] * 1000 + max(2, runs))

    def fit(seed: int, chosen: dict) -> LinearRegression:
        model = LinearRegression(epsilon=epsilon, fit_intercept=False, random_state=seed, **chosen)
        return model.fit(rows, targets)

    fits = [fit(seed, bounds) for seed in seeds]
    return {
        "models": [[model.coef_.tolist()] for model in fits],
        "same": bool(np.array_equal(fits[0].coef_, fits[1].coef_)),
        "silent": silent(fits[0], fits[1]),
        "silent from 0": silent(*(fit(seed, positive) for seed in seeds[:2])),
    }


def silent(first: LinearRegression, second: LinearRegression) -> float:
    """The share of Σxxᵀ's diagonal that two fits agree on to the last digit."""
    return float(np.mean(np.diag(first._obj_coefs[2]) == np.diag(second._obj_coefs[2])))  # noqa: SLF001


def fit_logistic(rows: np.ndarray, targets: np.ndarray, epsilon: float, runs: int, question: dict) -> dict:
    """LogisticRegression without intercept, for several ridges: the best is chosen on the records, for free."""
    # scikit-learn's ridge is ‖θ‖²/(2Cn).
    weight = 2 * question["regularization"] * len(targets)
    seeds = range(question["seed"] * 1000, question["seed"] * 1000 + max(2, runs))
    models = []
    for seed in seeds:
        fits = [
            LogisticRegression(
                epsilon=epsilon, data_norm=1.0, C=1 / (weight * ridge), fit_intercept=False, tol=1e-9, max_iter=1000,
                random_state=seed,
            ).fit(rows, targets)
            for ridge in RIDGES
        ]  # fmt: skip
        models.append([fit.coef_[0].tolist() for fit in fits])
    return {"models": models, "same": models[0] == models[1]}


main()
