"""A contract suite for rules and losses from other packages.

In your own tests:

    from copriv.testing import check_rule
    def test_my_rule():
        check_rule(MY_RULE)

At a prompt: `python -m copriv.testing package.module:MY_RULE`, or `--loss package.module:MY_LOSS`.
"""

from copriv.testing.loss_checks import check_loss, examine_loss
from copriv.testing.result import CheckResult, ContractBroken
from copriv.testing.rule_checks import check_rule, examine_rule

__all__ = ["CheckResult", "ContractBroken", "check_loss", "check_rule", "examine_loss", "examine_rule"]
