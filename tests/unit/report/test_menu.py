"""People read what is on a menu before they approve, and what was chosen afterwards."""

from contextlib import closing

import msgspec
import pytest
from tests import menu_study as study
from tests.choosing_rule import KINDS, LOOK, SQUARES

from copriv.owner.entries import Enrolled
from copriv.owner.ledger_opening import begin
from copriv.owner.owner import Owner
from copriv.owner.remaining import remaining
from copriv.owner.responder import PrivateResponder
from copriv.owner.sqlite_ledger import SqliteLedger
from copriv.privacy.guarantee import Guarantee
from copriv.protocol.messages import Query
from copriv.protocol.plain_terms import plain_terms
from copriv.protocol.public_rows import PublicRows
from copriv.protocol.study_file import StudyFile
from copriv.report.approval_screen import part_rows
from copriv.report.figures import Spending
from copriv.report.ledger_history import history
from copriv.report.ledger_sheet import ledger_sheet, sheet_lines, what_was_chosen
from copriv.report.menu import chosen_words, state_menu
from copriv.report.pages import render
from copriv.report.statement import Heading, describe, make_statement, owner_statement
from copriv.report.study_sheet import _bounds, _filled, _menu

HEADING = Heading("a study", "a learner", "today", PublicRows(0, ""))
ASKED = [("gradient", LOOK, 0), ("second_moments", SQUARES, 0)]


@pytest.fixture
def ledger(tmp_path):
    """Of an owner that has answered two questions."""
    path, commitment = tmp_path / "ledger.sqlite", study.commitment_of(0)
    with closing(SqliteLedger.create(path, begin("east", "records", study.GUARANTEE))) as ledger:
        owner = Owner("east", study.TERMS, commitment, PrivateResponder(study.sample_of(0), commitment), ledger)
        for number, (kind, share, _) in enumerate(ASKED):
            owner.answer(Query(f"q{number}", study.TERMS.digest(), "east", (0.0,) * 4, None, kind, share))
        yield ledger


def test_the_screen_says_the_limit_and_every_choice():
    commitment = study.commitment_of(0)
    (_, limit), *told = part_rows(commitment, 4)
    gradients, squares, positives = (words for _, words in told)
    assert "at most 100 %" in limit
    assert "ε = 1, 100% of what you promise" in limit
    assert "4 numbers" in gradients
    assert "10 numbers" in squares
    rows = {"gradient": gradients, "second_moments": squares, "positives": positives}
    for part in commitment.menu:
        row = rows[part.kind]
        assert f"{part.share} % ({part.calibration.charge.words})" in row
        assert f"scale {part.calibration.mechanism.scale:.6g}" in row
    assert "average second moments" in _menu(StudyFile(study.TERMS, {}).terms)


def test_the_screen_names_the_share_of_positives_and_what_a_record_can_change_of_it():
    """One number, in which a record counts 1 and moves the answer by 1/n; terms without it do not speak of it."""
    _, *_, (place, words) = part_rows(study.commitment_of(0), 4)
    assert place.strip() == "on the menu"
    assert words.startswith("noisy share of positive targets (")
    assert "), 1 number; a record's " in words
    assert " at most 1; laplace noise" in words
    assert f"a change of at most {1 / 40:.6g} (L1) when one record is replaced" in words
    assert "share of positive targets" in _menu(study.TERMS)
    without = msgspec.structs.replace(study.TERMS, kinds=KINDS[:2])
    assert "positive" not in _menu(without)
    assert not any("positive" in words for _, words in part_rows(study.commitment_of(0, without), 4))


def test_the_screen_says_of_people_that_it_is_people_who_count():
    of_people = {"unit": "person", "person": "patient", "rows_cap": 5, "weigh": "person"}
    terms = msgspec.structs.replace(study.TERMS, **of_people)
    _, *_, (_, words) = part_rows(study.commitment_of(0, terms), 4)
    assert "; a person's " in words
    assert "record's" not in words
    assert "when one person is replaced" in words


def test_a_share_of_positives_that_was_told_is_stated():
    menu = state_menu(study.commitment_of(0), [("positives", LOOK, 0), ("positives", LOOK, 0)])
    assert chosen_words(menu) == "share of positive targets at 20 % of the training budget (2)"
    [told] = [choice for choice in menu if choice.answers]
    assert told.sensitivity == pytest.approx(1 / 40)


def test_screens_say_that_an_answer_may_be_made_finer_where_it_may():
    (_, limit), *_ = part_rows(study.commitment_of(0), 4)
    assert "a gradient may be made finer later, at the same model, and then only the difference is paid" in limit
    assert "only the difference is paid" in _menu(study.TERMS)
    (_, limit), *_ = part_rows(study.commitment_of(0, guarantee=Guarantee.of(1, 1e-6)), 4)
    assert "finer" not in limit
    assert "finer" not in _menu(msgspec.structs.replace(study.TERMS, epsilon=1.0, delta=1e-6))


def test_the_statement_says_what_was_made_finer():
    commitment = study.commitment_of(0)
    menu = state_menu(commitment, [("gradient", LOOK, 0), ("gradient", 45, LOOK)])
    assert [(choice.share, choice.answers, choice.finer) for choice in menu if choice.answers] == [
        (20, 1, 0),
        (65, 1, 1),
    ]
    spent = Spending("east", 2, 0.65, 0.0, 1.0, 3, 40, menu)
    told = make_statement(HEADING, "0" * 64, "secure", [owner_statement(spent, commitment)])
    assert "65 % of the training budget (1, 1 of them an earlier answer made finer for the difference)" in describe(
        told
    )
    page = render("privacy.html", told)
    assert "1, 1 of them made finer" in page
    assert "only the\ndifference was paid" in page


FILLED = msgspec.structs.replace(study.TERMS, fill=0.05)


@pytest.mark.parametrize(("guarantee", "norm"), [(study.GUARANTEE, "L1"), (Guarantee.of(1, 1e-6), "L2")])
def test_the_screen_says_what_filled_gradients_carry_and_that_both_together_are_bounded(guarantee, norm):
    """4 numbers of a gradient and 10 second moments, of which a record counts at most the clip of 0.5 as a whole."""
    commitment = study.commitment_of(0, FILLED, guarantee)
    _, (place, words), *others = part_rows(commitment, 4)
    assert place.strip() == "on the menu"
    assert words.startswith(
        "noisy average gradient with second moments (4 of a gradient and 10 averages of products of two features, "
        f"weighted averages of xxᵀ), 14 numbers; a record's gradient and second moments together are at most 0.5 long "
        f"({norm}); "
    )
    part = commitment.part("gradient", LOOK)
    assert f"noise on every number, for a change of at most {part.sensitivity.value:.6g} ({norm}) when one" in words
    assert f"{LOOK} % ({part.calibration.charge.words}): scale {part.calibration.mechanism.scale:.6g}" in words
    unfilled = part_rows(study.commitment_of(0, guarantee=guarantee), 4)
    assert unfilled[2:] == others
    assert words.split("noise on every number, ")[1] == unfilled[1][1].split("noise on every number, ")[1]
    assert "noisy average gradient, 4 numbers; a record's gradient is at most 0.5 long" in unfilled[1][1]


def test_the_sheet_of_a_study_says_that_gradients_are_filled():
    assert "(average gradient with second moments or average second moments or" in _menu(FILLED)
    assert "(average gradient or average second moments or" in _menu(study.TERMS)
    assert "a record's gradient and second moments together at most 0.5 long" in _bounds(FILLED)
    assert "a record's gradient at most 0.5 long" in _bounds(study.TERMS)
    words = _filled(FILLED)
    assert "with every average gradient leave 10 averages of products of two features (xxᵀ)" in words
    assert "at most 0.05 times, and less where its gradient leaves less room below 0.5" in words
    assert "noise and price are those of the gradient alone" in words


def test_statements_say_that_gradients_were_filled():
    commitment = study.commitment_of(0, FILLED)
    menu = state_menu(commitment, ASKED)
    assert {choice.kind for choice in menu} == {"filled_gradient", *KINDS[1:]}
    assert chosen_words(menu).startswith("average gradient with second moments at 20 % of the training budget (1), ")
    spent = Spending("east", 2, 0.35, 0.0, 1.0, 3, 40, menu)
    told = make_statement(HEADING, "0" * 64, "secure", [owner_statement(spent, commitment)])
    assert "average gradient with second moments at 20 %" in describe(told)
    assert "<td>average gradient with second moments</td><td>20 %</td>" in render("privacy.html", told)


def test_without_a_menu_the_screen_is_what_it_was():
    terms = plain_terms(answers=3)
    ((name, words),) = part_rows(study.commitment_of(0, terms), 4)
    assert name == "you answer"
    assert words.startswith("at most 3 times: a noisy average gradient")


def test_the_history_says_what_was_asked_at_which_share(ledger):
    answers = [event for event in history(ledger, values=False) if event.event == "answer"]
    assert [(event.sent.kind, event.sent.share) for event in answers] == [
        ("average gradient", LOOK),
        ("average second moments", SQUARES),
    ]
    assert "average second moments at 15 % of the training budget, 10 numbers" in answers[1].words


def test_the_sheet_says_what_was_chosen(ledger, tmp_path):
    digest = study.TERMS.digest()
    chosen = what_was_chosen(ledger)
    assert set(chosen) == {digest}
    assert chosen[digest].startswith("average gradient at 20 % of the training budget (1), ")
    ledger.enroll(Enrolled(digest, "a study", "a learner", "a person"))
    sheet = ledger_sheet(tmp_path, ledger.state(), chosen)
    assert any(line.split() == ["asked", *chosen[digest].split()] for line in sheet_lines(sheet, "the ledger"))


def test_what_is_left_is_counted_in_the_cheapest_choice(ledger):
    left = remaining(ledger.state(), ledger.entries(), study.commitment_of(0), study.TERMS.digest())
    assert (left.answers, left.answers_left) == (2, 4)
    assert left.epsilon_spent == pytest.approx(0.35)
    assert left.epsilon_left == pytest.approx(0.65)


def test_the_statement_says_what_was_chosen():
    commitment = study.commitment_of(0)
    menu = state_menu(commitment, ASKED)
    assert [choice.answers for choice in menu if choice.answers] == [1, 1]
    spent = Spending("east", 2, 0.35, 0.0, 1.0, 3, 40, menu)
    told = make_statement(HEADING, "0" * 64, "secure", [owner_statement(spent, commitment)])
    words = chosen_words(menu)
    assert words.split(", ") == [
        "average gradient at 20 % of the training budget (1)",
        "average second moments at 15 % of the training budget (1)",
    ]
    assert words in describe(told)
    page = render("privacy.html", told)
    assert "What was asked, and at which share" in page
    assert "average second moments" in page
    unchosen = Spending("east", 2, 0.35, 0.0, 1.0, 3, 40)
    plain = make_statement(HEADING, "0" * 64, "secure", [owner_statement(unchosen, commitment)])
    assert "at which share" not in render("privacy.html", plain)
