"""A trained model as an ONNX graph: one input a column, one prediction a row, all in double precision.

Inputs are columns of shape (rows, 1). A number is a double, NaN where it is missing; a day is a double that counts days
since 1970-01-01; a category is a text, empty where it is missing. Trees are walked step by step with gathers: the
operators that ONNX has for trees answer in single precision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from copriv.errors import BadInput
from copriv.records.cells import MISSING_INPUT
from copriv.records.column import MOST_DEVIATIONS, Column
from copriv.records.dictionary import SLIGHTLY_LESS, Dictionary
from copriv.records.trees import Trees
from copriv.report.model_file import ModelFile

OPSET, ML_OPSET, IR = 17, 2, 8
OUTPUT = "prediction"
# Texts that say that a category is missing, as they are usually written.
_MISSING = ("", "na", "NA", "n/a", "N/A", "#n/a", "#N/A", "nan", "NaN", "NAN", "null", "NULL", "Null", "?", "-")


@dataclass(slots=True)
class _Graph:
    """Nodes and constants, as they are added; names are numbered."""

    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def constant(self, value: Any, dtype: type = np.float64) -> str:  # noqa: ANN401
        """The name of a constant."""
        from onnx import numpy_helper

        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype=dtype), name))
        return name

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:  # noqa: ANN401
        """The name of what an operator makes of its inputs."""
        from onnx import helper

        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def double(self, given: str) -> str:
        """The same as doubles."""
        from onnx import TensorProto

        return self.add("Cast", given, to=TensorProto.DOUBLE)

    def hold(self, given: str, low: float, high: float) -> str:
        """The same within limits."""
        return self.add("Min", self.add("Max", given, self.constant(low)), self.constant(high))


_RATE = "expected {} for an exposure of 1: multiply it by the exposure"
_MEANING = {
    "label": "probability of a positive label",
    "count": _RATE.format("count"),
    "amount": _RATE.format("amount"),
}


def onnx_model(model: ModelFile) -> Any:  # noqa: ANN401
    """The graph of a model.

    Raises:
        BadInput: a column's categories are hashed, for which ONNX has no operator.
    """
    from onnx import TensorProto, helper

    graph, dictionary = _Graph(), model.dictionary
    _require_no_hash(dictionary)
    values = [_value(graph, place, column) for place, column in enumerate(dictionary.columns)]
    margin = _margin(graph, model, values)
    target = dictionary.target
    if target.kind == "label":
        shown = graph.add("Sigmoid", margin)
    elif target.is_rate:
        shown = graph.add("Mul", graph.add("Exp", margin), graph.constant(target.center))
    else:
        shown = graph.add("Add", graph.add("Mul", margin, graph.constant(target.scale)), graph.constant(target.center))
    graph.nodes.append(helper.make_node("Identity", [shown], [OUTPUT]))
    inputs = [_input(place, column) for place, column in enumerate(dictionary.columns)]
    outputs = [helper.make_tensor_value_info(OUTPUT, TensorProto.DOUBLE, [None, 1])]
    whole = helper.make_graph(graph.nodes, "copriv", inputs, outputs, graph.constants)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    made = helper.make_model(whole, opset_imports=opsets, ir_version=IR, producer_name="copriv")
    helper.set_model_props(made, describe(model))
    return made


def describe(model: ModelFile) -> dict[str, str]:
    """What goes with a model wherever it goes: what it predicts, and what protects the records behind it."""
    target, promised = model.dictionary.target, msgspec.json.encode(model.promised).decode()
    inputs = {name: f"x{place}" for place, name in enumerate(model.dictionary.required_columns())}
    kinds = {column.name: column.kind for column in model.dictionary.columns}
    return {
        "target": target.name,
        "prediction": _MEANING.get(target.kind, "the target's own unit"),
        "inputs": msgspec.json.encode(inputs).decode(),
        "kinds": msgspec.json.encode(kinds).decode(),
        "noise": model.noise if model.noise == "secure" else f"{model.noise}: protects nobody",
        "promised": promised,
    }


def _require_no_hash(dictionary: Dictionary) -> None:
    for column in dictionary.columns:
        if column.encoded.buckets > 1:
            raise BadInput(
                f"categories of {column.name!r} that are not in its list are told apart by a hash, which ONNX has not",
                remedy="export it with --to sklearn, or train without this column",
                value=column.name,
            )


def _input(place: int, column: Column) -> Any:  # noqa: ANN401
    from onnx import TensorProto, helper

    kind = TensorProto.STRING if column.kind == "category" else TensorProto.DOUBLE
    return helper.make_tensor_value_info(f"x{place}", kind, [None, 1])


def _value(graph: _Graph, place: int, column: Column) -> str:
    """A column as doubles: a number, or a category's place; NaN where it is missing."""
    if column.kind == "category":
        keys = [*column.categories, *(text for text in _MISSING if text not in column.categories)]
        places = [float(each) for each in range(len(column.categories))]
        places += [-1.0] * (len(keys) - len(places))
        beyond = float(len(column.categories)) if column.encoded.buckets else -1.0
        found = graph.add(
            "LabelEncoder",
            f"x{place}",
            domain="ai.onnx.ml",
            keys_strings=keys,
            values_floats=places,
            default_float=beyond,
        )
        found = graph.double(found)
        missing = graph.add("Less", found, graph.constant(0.0))
        return graph.add("Where", missing, graph.constant(math.nan), found)
    return f"x{place}"


def _known(graph: _Graph, value: str) -> str:
    """Whether a value is a finite number."""
    return graph.add("Not", graph.add("Or", graph.add("IsNaN", value), graph.add("IsInf", value)))


def _standardised(graph: _Graph, value: str, known: str, column: Column) -> str:
    held = graph.add("Where", known, value, graph.constant(column.fill))
    if column.encoded.limits is not None:
        held = graph.hold(held, *column.encoded.limits)
    away = graph.add("Sub", held, graph.constant(column.mean))
    away = graph.add("Div", away, graph.constant(column.deviation))
    return graph.hold(away, -MOST_DEVIATIONS, MOST_DEVIATIONS)


def _cells(graph: _Graph, dictionary: Dictionary, values: list[str]) -> str:
    """All cells, side by side."""
    found = []
    for column, value in zip(dictionary.columns, values, strict=True):
        encoding, known = column.encoded, _known(graph, value)
        if encoding.indicators:
            places = np.arange(len(column.categories) + encoding.buckets, dtype=np.float64)[None]
            found.append(graph.double(graph.add("Equal", value, graph.constant(places))))
        else:
            found.append(_standardised(graph, value, known, column))
            if encoding.knots:
                above = graph.add("Sub", found[-1], graph.constant([encoding.knots]))
                found.append(graph.add("Max", above, graph.constant(0.0)))
        if encoding.missing:
            found.append(graph.double(graph.add("Not", known)))
    cells = graph.add("Concat", *found, axis=1)
    if not dictionary.pairs:
        return cells
    sides = np.asarray(dictionary.pairs, dtype=np.int64).T
    one, other = (graph.add("Gather", cells, graph.constant(side, np.int64), axis=1) for side in sides)
    products = graph.hold(graph.add("Mul", one, other), -MOST_DEVIATIONS, MOST_DEVIATIONS)
    return graph.add("Concat", cells, products, axis=1)


def _inputs(graph: _Graph, dictionary: Dictionary, values: list[str]) -> str:
    """What trees read."""
    found = []
    for column, value in zip(dictionary.columns, values, strict=True):
        known = _known(graph, value)
        read = value if column.encoded.indicators else _standardised(graph, value, known, column)
        found.append(graph.add("Where", known, read, graph.constant(MISSING_INPUT)))
    return graph.add("Concat", *found, axis=1)


def _leaves(graph: _Graph, trees: Trees, inputs: str) -> str:
    """The node at which each row stands in each tree (rows × trees)."""
    own = np.arange(len(trees.columns))
    leaf = np.asarray(trees.columns) < 0
    columns = graph.constant(np.where(leaf, 0, trees.columns), np.int64)
    left, right = (graph.constant(np.where(leaf, own, side), np.int64) for side in (trees.left, trees.right))
    thresholds = graph.constant(trees.thresholds)
    rows = graph.add("Shape", inputs, start=0, end=1)
    shape = graph.add("Concat", rows, graph.constant([len(trees.roots)], np.int64), axis=0)
    nodes = graph.add("Expand", graph.constant([trees.roots], np.int64), shape)
    for _ in range(_depth(trees)):
        asked = graph.add("GatherElements", inputs, graph.add("Gather", columns, nodes), axis=1)
        lower = graph.add("LessOrEqual", asked, graph.add("Gather", thresholds, nodes))
        nodes = graph.add("Where", lower, graph.add("Gather", left, nodes), graph.add("Gather", right, nodes))
    return nodes


def _depth(trees: Trees) -> int:
    depths = [0] * len(trees.columns)
    for node, (column, *children) in enumerate(zip(trees.columns, trees.left, trees.right, strict=True)):
        for child in children if column >= 0 else ():
            depths[child] = depths[node] + 1
    return max(depths)


def _margin(graph: _Graph, model: ModelFile, values: list[str]) -> str:
    """θᵀx: what features add, shortened with the row, and the intercept."""
    dictionary, theta = model.dictionary, np.asarray(model.theta)
    # Scaled beforehand: onnxruntime would fuse a product with a scalar into the sum before, in single precision.
    scaled = SLIGHTLY_LESS * math.sqrt(1 - dictionary.intercept**2) / dictionary.length * theta
    adds, squares = _linear(graph, dictionary, scaled, values)
    if dictionary.score_trees is not None or dictionary.leaf_trees is not None:
        by_trees = _by_trees(graph, dictionary, scaled, _inputs(graph, dictionary, values))
        adds, squares = [*adds, *by_trees[0]], [*squares, *by_trees[1]]
    length = graph.add("Sqrt", _sum(graph, squares))
    longest = graph.add("Max", graph.add("Div", length, graph.constant(dictionary.length)), graph.constant(1.0))
    bounded = graph.add("Div", _sum(graph, adds), longest)
    return graph.add("Add", bounded, graph.constant(SLIGHTLY_LESS * dictionary.intercept * theta[-1]))


def _linear(graph: _Graph, dictionary: Dictionary, theta: np.ndarray, values: list[str]) -> tuple[list[str], list[str]]:
    """Of components and cells: what they add, and their squared lengths."""
    last, adds, squares = len(dictionary.components), [], []
    weights = np.asarray(dictionary.weights or (), dtype=np.float64)
    if not last and not weights.size:
        return [], []
    cells = _cells(graph, dictionary, values)
    parts = []
    if last:
        scores = graph.add("MatMul", cells, graph.constant(np.asarray(dictionary.components).T))
        parts.append((graph.add("Sub", scores, graph.constant([dictionary.offsets or (0.0,) * last])), theta[:last]))
    if kept := np.flatnonzero(weights).tolist():
        chosen = graph.add("Gather", cells, graph.constant(kept, np.int64), axis=1)
        parts.append((graph.add("Mul", chosen, graph.constant([weights[kept]])), theta[last : last + len(kept)]))
    for scores, numbers in parts:
        adds.append(graph.add("MatMul", scores, graph.constant(numbers[:, None])))
        squares.append(graph.add("ReduceSumSquare", scores, axes=[1], keepdims=1))
    return adds, squares


def _by_trees(graph: _Graph, dictionary: Dictionary, theta: np.ndarray, inputs: str) -> tuple[list[str], list[str]]:
    """The same of the public score and of leaves; in each tree a row stands at one leaf, so their length is known."""
    adds, squares = [], []
    axis = graph.constant([1], np.int64)
    if not isinstance(dictionary.score, msgspec.UnsetType) and dictionary.score_place is not None:
        trees = dictionary.score.trees
        said = graph.add("Gather", graph.constant(trees.values), _leaves(graph, trees, inputs))
        total = graph.add("ReduceSum", said, axis, keepdims=1)
        away = graph.add("Sub", total, graph.constant(dictionary.score.center))
        score = graph.add("Div", away, graph.constant(dictionary.score.deviation))
        adds.append(graph.add("Mul", score, graph.constant(theta[dictionary.score_place])))
        squares.append(graph.add("Mul", score, score))
    if not isinstance(dictionary.leaves, msgspec.UnsetType):
        trees = dictionary.leaves
        weights = np.zeros(len(trees.columns))
        weights[trees.leaves] = theta[dictionary.features - trees.leaves.size : -1]
        said = graph.add("Gather", graph.constant(weights), _leaves(graph, trees, inputs))
        adds.append(graph.add("ReduceSum", said, axis, keepdims=1))
        squares.append(graph.constant(float(len(trees.roots))))
    return adds, squares


def _sum(graph: _Graph, parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else graph.add("Sum", *parts)
