"""The command that repeats one row of a report."""

import shlex


def repeat_command(case, config, dtype, peer, backend="numpy", seed=0, plugins=()):
    """Write the command.

    Parameters
    ----------
    case, config, dtype, peer : str
        What the row compares.
    backend : str, optional
        The library that runs the reference.
    seed : int, optional
        The run's seed.
    plugins : sequence of str, optional
        Modules that add cases.

    Returns
    -------
    str
        To be pasted into a shell.
    """
    words = ["refcompare", "run", case, "--config", config, "--dtype", dtype, "--peer", peer]
    if backend != "numpy":
        words += ["--backend", backend]
    if seed:
        words += ["--seed", str(seed)]
    for module in plugins:
        words += ["--plugin", module]
    return shlex.join(words)
