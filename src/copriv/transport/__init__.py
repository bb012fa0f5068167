"""Carrying messages between learner and owners."""
