from compare.run.identity import core_count, cpu_name, digest_of_files, package_versions, source_digest


def test_the_digest_follows_names_and_contents(tmp_path):
    paths = [tmp_path / "a", tmp_path / "b"]
    seen = set()
    for contents in (("1", "23"), ("12", "3"), ("1", "23 ")):
        for path, text in zip(paths, contents, strict=True):
            path.write_text(text)
        seen.add(digest_of_files(paths))
    assert len(seen) == 3


def test_the_sources_have_one_digest():
    assert source_digest() == source_digest()


def test_the_machine_and_its_packages_are_named():
    assert cpu_name() and core_count() >= 1
    assert {"numpy", "torch"} <= package_versions().keys()
