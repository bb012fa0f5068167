"""The paper's figures, redrawn: each study computes a table and draws it."""
