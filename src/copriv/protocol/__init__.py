"""Where learner and owners meet: terms, messages, their bytes, and what a transport is. Pure."""
