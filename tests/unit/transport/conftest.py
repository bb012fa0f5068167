from datetime import UTC, datetime

import pytest

from copriv.protocol.plain_terms import plain_terms
from copriv.protocol.study_file import StudyFile, dictionary_digest, write_study
from copriv.transport.learner_workspace import Address, LearnerWorkspace

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
DICTIONARY = {"columns": []}


@pytest.fixture
def quarters(tmp_path):
    """A learner's folder that owners reach from elsewhere, made on 1 January 2030."""
    terms = plain_terms(horizon=10, step=0.1, dictionary=dictionary_digest(DICTIONARY), answers=5)
    study = write_study(StudyFile(terms, DICTIONARY))
    address = Address(["learner.example.org", "192.0.2.7"], "127.0.0.1", 4222)
    return LearnerWorkspace.create(tmp_path / "learner", study, address=address, now=NOW, serial="1")
