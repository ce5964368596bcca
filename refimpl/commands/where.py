"""The option that says which library computes."""

import typer

WHERE = typer.Option(help="numpy or cupy.  [default: $REFIMPL_BACKEND, else numpy]")


def backend_named(name):
    """Choose a library, and complain before anything is read if it is not there.

    Parameters
    ----------
    name : str or None
        Its name; by default the one of the environment.

    Returns
    -------
    str
        Its name.

    Raises
    ------
    ValueError
        If there is no such library.
    """
    from refimpl.arrays.backend import backend, default_backend

    name = name or default_backend()
    backend(name)
    return name
