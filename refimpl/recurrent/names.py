"""The names of recurrent parameters: ``weight_ih`` maps the input, ``weight_hh`` the hidden state."""

from dataclasses import dataclass

from refimpl.arrays import check_params, check_setting, check_shape

REQUIRED = ("weight_ih", "weight_hh")
BIASES = ("bias_ih", "bias_hh")


def linear_part(params, which):
    """Select the linear map of the input or of the hidden state.

    Parameters
    ----------
    params : dict of array
        Parameters of a cell.
    which : {"ih", "hh", "hr"}
        From input to hidden, from hidden to hidden, or from hidden to its projection.

    Returns
    -------
    dict of array
        ``weight`` and, where there is one, ``bias``, as `linear` wants them.
    """
    names = {f"weight_{which}": "weight", f"bias_{which}": "bias"}
    return {names[key]: value for key, value in params.items() if key in names}


def named_part(which, dparams):
    """Give the gradients of a linear map the names of a cell: the inverse of `linear_part`.

    Parameters
    ----------
    which : {"ih", "hh", "hr"}
        Which map it was.
    dparams : dict of array
        Gradients of ``weight`` and ``bias``.

    Returns
    -------
    dict of array
        The same under the cell's keys.
    """
    return {f"{key}_{which}": value for key, value in dparams.items()}


def check_cell(params, d_in, *, n_gate, may_project=False, suffix=""):
    """Require the parameters of one cell.

    Parameters
    ----------
    params : dict of array
        Parameters of a cell.
    d_in : int
        The size of its input.
    n_gate : int
        How many blocks of rows the weights have.
    may_project : bool, optional
        Whether the hidden state may be projected by ``weight_hr``.
    suffix : str, optional
        What the caller's keys have behind, for the message.

    Returns
    -------
    d_state : int
        The size of the hidden state.
    d_hidden : int
        The size before a projection.

    Raises
    ------
    ValueError
        If a key is missing or unknown or a shape does not fit.
    """
    check_params(params, REQUIRED, (*BIASES, *(("weight_hr",) if may_project else ())))
    check_shape(f"weight_hh{suffix}", params["weight_hh"], (None, None))
    n_row, d_state = params["weight_hh"].shape
    fits = n_row > 0 and n_row % n_gate == 0
    check_setting(f"the number of rows of weight_hh{suffix}", n_row, fits, f"a positive multiple of {n_gate}")
    d_hidden = n_row // n_gate
    d_expected = d_hidden
    if "weight_hr" in params:
        check_shape(f"weight_hr{suffix}", params["weight_hr"], (None, d_hidden))
        d_expected = params["weight_hr"].shape[0]
    shapes = {"weight_ih": (n_row, d_in), "weight_hh": (n_row, d_expected), "bias_ih": (n_row,), "bias_hh": (n_row,)}
    for key in shapes.keys() & params.keys():
        check_shape(key + suffix, params[key], shapes[key])
    return d_state, d_hidden


@dataclass(frozen=True)
class Cell:
    """One direction of one layer in a stack.

    Attributes
    ----------
    params : dict of array
        Its parameters under a cell's keys, such as ``weight_ih``.
    suffix : str
        What the stack's keys have behind, such as ``_l0_reverse``.
    is_reverse : bool
        Whether it reads from the end to the start.
    d_state, d_hidden : int
        The size of its hidden state, and that before a projection.
    """

    params: dict
    suffix: str
    is_reverse: bool
    d_state: int
    d_hidden: int

    def rename(self, dparams):
        """Give gradients the keys of the stack.

        Parameters
        ----------
        dparams : dict of array
            Under a cell's keys.

        Returns
        -------
        dict of array
            Under the stack's.
        """
        return {key + self.suffix: value for key, value in dparams.items()}


def cells_of(params, d_in, *, n_gate, n_layer, n_direction, may_project):
    """Take the parameters of a stack apart, and require that they fit.

    Parameters
    ----------
    params : dict of array
        With the keys of `torch.nn.RNN`, `torch.nn.LSTM` or `torch.nn.GRU`.
    d_in : int
        The size of the input.
    n_gate : int
        How many blocks of rows the weights have.
    n_layer, n_direction : int
        How many cells there are.
    may_project : bool
        Whether there may be a ``weight_hr``.

    Returns
    -------
    list of Cell
        In the order layer 0, layer 0 reversed, layer 1, …

    Raises
    ------
    ValueError
        If a key is missing or unknown or a shape does not fit.
    """
    suffixes = [f"_l{layer}{way}" for layer in range(n_layer) for way in ("", "_reverse")[:n_direction]]
    optional = (*BIASES, *(("weight_hr",) if may_project else ()))
    check_params(
        params,
        [key + suffix for suffix in suffixes for key in REQUIRED],
        [key + suffix for suffix in suffixes for key in optional],
    )
    cells = []
    for i, suffix in enumerate(suffixes):
        own = {key: params[key + suffix] for key in (*REQUIRED, *optional) if key + suffix in params}
        size = d_in if i < n_direction else n_direction * cells[0].d_state
        d_state, d_hidden = check_cell(own, size, n_gate=n_gate, may_project=may_project, suffix=suffix)
        cells.append(Cell(own, suffix, suffix.endswith("_reverse"), d_state, d_hidden))
    sizes = sorted({(cell.d_state, cell.d_hidden) for cell in cells})
    check_setting("the sizes (d_state, d_hidden) of the layers", sizes, len(sizes) == 1, "one and the same")
    return cells
