"""Folders of tiny models, each made once."""

import pytest

from tests.checkpoints.tiny import tiny_config, tiny_model


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """Make the folder of a family and a class."""
    made = {}

    def folder(name, class_name):
        if class_name not in made:
            made[class_name] = tmp_path_factory.mktemp(class_name)
            tiny_model(class_name, tiny_config(name)).save_pretrained(made[class_name])
        return made[class_name]

    return folder
