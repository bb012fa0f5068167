"""What runs: a consortium in one process, the learner's server, an owner's client. Nothing is printed here."""
