from compare.run.repeat import repeat_command


def test_the_command_names_what_differs_from_the_default():
    assert repeat_command("gelu", "wide", "float32", "torch") == (
        "refcompare run gelu --config wide --dtype float32 --peer torch"
    )
    assert repeat_command("gelu", "wide", "float32", "torch flash", "cupy", 3, ("my.cases",)) == (
        "refcompare run gelu --config wide --dtype float32 --peer 'torch flash' --backend cupy --seed 3 "
        "--plugin my.cases"
    )
