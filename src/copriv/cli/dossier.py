"""`copriv dossier`: the file that a validator asks for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from copriv.cli.command import argument, option, takes
from copriv.cli.options import OUTPUT, AsJson


@dataclass(frozen=True, kw_only=True)
class DossierOptions(AsJson):
    """The options of `copriv dossier`."""

    run: Annotated[Path, argument("A run folder of `copriv train`, or a learner's folder whose run is finished.")]
    out: Annotated[Path | None, option("--out", OUTPUT, "The page to write (default: dossier.html in the run).")] = None
    purpose: Annotated[str, option("--purpose", OUTPUT, "What the model is for, in your words.")] = ""
    sign_off: Annotated[
        list[str] | None, option("--sign-off", OUTPUT, "Who has signed; may be given again.", "ROLE: NAME")
    ] = None


@takes(DossierOptions)
def dossier(options: DossierOptions) -> None:
    """Write the dossier of a run: model card, lineage, challengers, privacy as attack risk, sign-offs, limits.

    Every figure is traced to a file of the run, by its SHA-256 and the place in it. It may be passed on, with
    model.json, privacy.json, report.json and schedule.json beside it.

    copriv dossier runs/first --purpose "prices of new loans" --sign-off "validator: A. Kim"
    """
    from copriv.cli.say import say
    from copriv.report.dossier import parse_sign_off
    from copriv.report.dossier_files import write_dossier

    signed = tuple(parse_sign_off(each) for each in options.sign_off or ())
    told = write_dossier(options.run, options.out, options.purpose, signed)
    say(told, told.lines(), as_json=options.as_json)
