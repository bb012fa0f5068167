"""`python -m copriv.testing package.module:RULE`: run the contract suite on a rule, or with --loss on a loss."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

import msgspec

from copriv.errors import BadInput, CoprivError
from copriv.losses.choose import choose
from copriv.losses.outside import OutsideLoss
from copriv.rules.entry import RuleEntry
from copriv.rules.registry import resolve
from copriv.testing.loss_checks import examine_loss
from copriv.testing.result import CheckResult
from copriv.testing.rule_checks import examine_rule


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if every promise is kept, 1 if one is broken, 2 if there is nothing to check."""
    options = _parse(arguments)
    try:
        results = _examine_loss(options.what) if options.loss else _examine_rule(options.what)
    except CoprivError as problem:
        sys.stderr.write(f"error: {problem.problem}\n  {problem.remedy}\n")
        return 2
    if options.json:
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(results)) + b"\n")
        sys.stdout.flush()
    else:
        sys.stdout.write(_told(options.what, results))
    return 0 if all(result.passed for result in results) else 1


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m copriv.testing", description="Run the contract suite on a rule or a loss."
    )
    parser.add_argument("what", help="package.module:OBJECT, or the name of an installed rule or loss")
    parser.add_argument("--loss", action="store_true", help="it is a loss")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args(arguments)


def _examine_rule(what: str) -> tuple[CheckResult, ...]:
    if ":" not in what:
        return examine_rule(resolve(what))
    found = _import(what)
    if not isinstance(found, RuleEntry):
        raise BadInput(f"{what} is no RuleEntry", remedy="name a copriv.rules.entry.RuleEntry", value=what)
    return examine_rule(found)


def _examine_loss(what: str) -> tuple[CheckResult, ...]:
    if ":" not in what:
        choose(what, 1.0)
        return examine_loss(what)
    found = _import(what)
    if not isinstance(found, OutsideLoss):
        raise BadInput(f"{what} is no OutsideLoss", remedy="name a copriv.losses.outside.OutsideLoss", value=what)
    return examine_loss(found)


def _import(what: str) -> object:
    module, _, name = what.partition(":")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as problem:
        raise BadInput(
            f"{what} cannot be imported: {problem}", remedy="give package.module:OBJECT, installed or on PYTHONPATH"
        ) from problem


def _told(what: str, results: Sequence[CheckResult]) -> str:
    failed = sum(not result.passed for result in results)
    verdict = f"{failed} of {len(results)} promises are broken" if failed else f"all {len(results)} promises are kept"
    return "".join(f"{result.line()}\n" for result in results) + f"{what}: {verdict}\n"


if __name__ == "__main__":
    sys.exit(main())
