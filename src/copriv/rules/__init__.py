"""Rules: how the learner turns answers into a model. A rule is a pure function from state to state."""
