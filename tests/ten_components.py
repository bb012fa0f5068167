"""Commands of tests that are not about the choice of features have ten components: choosing takes seconds."""

_VERBS = {"train", "plan", "forecast", "verdict", "sweep", "draft"}
_SETTLED = {"--features", "--study", "--dictionary", "--resume", "--help"}


def with_ten_components(arguments):
    """The same command with `--features 10`, unless it says something about features or takes them from elsewhere."""
    words = [str(word) for word in arguments]
    verb = words[1] if words[:1] == ["learner"] and len(words) > 1 else words[0] if words else ""
    if verb not in _VERBS or _SETTLED & set(words) or any(word.startswith("features=") for word in words):
        return words
    return [*words, "--features", "10"]
