"""Folders of runs are for nobody else to read."""

from copriv.runtime.local_folder import hidden_folder, make, make_private


def mode(path):
    return path.stat().st_mode & 0o777


def test_runs_beside_the_registry_lie_in_a_folder_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setenv("COPRIV_REGISTRY", str(tmp_path / "registry"))
    old = tmp_path / "registry" / "runs"
    for _ in ("new", "made by an earlier version"):
        folder = hidden_folder()
        make(folder)
        assert (mode(folder), mode(old)) == (0o700, 0o700)
        old.chmod(0o755)


def test_a_folder_that_others_could_read_is_shut(tmp_path):
    place = tmp_path / "open"
    place.mkdir(mode=0o755)
    make_private(place)
    assert mode(place) == 0o700
