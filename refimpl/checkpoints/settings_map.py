"""Judging the settings of a config.json, with every fault found reported by key and value."""

from refimpl.checkpoints.errors import shown

LARGEST_SIZE = 2**31 - 1


def is_integer(value):
    """Tell an integer from a boolean and everything else.

    Parameters
    ----------
    value : object
        Anything that JSON can hold.

    Returns
    -------
    bool
        True for an integer.
    """
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value):
    """Tell a number from a boolean and everything else.

    Parameters
    ----------
    value : object
        Anything that JSON can hold.

    Returns
    -------
    bool
        True for an integer or a float.
    """
    return is_integer(value) or isinstance(value, float)


def not_accepted(settings, accepted):
    """Find the settings that describe a model which `refimpl` does not have.

    Parameters
    ----------
    settings : dict of str to object
        What config.json holds.
    accepted : dict of (str, tuple)
        By key the only values that are supported; None stands for an absent key and for null.

    Returns
    -------
    list of str
        One fault for each other value.
    """
    faults = []
    for key, values in accepted.items():
        got = settings.get(key)
        # 1 == True: a flag must be a flag.
        if not any(got == value and isinstance(got, bool) == isinstance(value, bool) for value in values):
            expected = " or ".join("absent" if value is None else shown(value) for value in values)
            faults.append(f"{key} must be {expected}, got {shown(got) if key in settings else 'nothing'}")
    return faults


def under_first_keys(settings, other_keys):
    """Put what has two keys under its first: of the two `transformers` reads the second, whatever the first says.

    Parameters
    ----------
    settings : dict of str to object
        What config.json holds.
    other_keys : dict of (str, str)
        By the second key of a setting its first.

    Returns
    -------
    settings : dict of str to object
        The same without second keys.
    faults : list of str
        One for each setting of which the two keys say something else.
    """
    found, faults = {key: value for key, value in settings.items() if key not in other_keys}, []
    for second, first in other_keys.items():
        value = settings.get(second)
        if value is None:
            continue
        said = found.setdefault(first, value)
        if said is None:
            found[first] = value
        elif said != value or isinstance(said, bool) != isinstance(value, bool):
            faults.append(f"{second} must be what {first} is, {shown(said)}, got {shown(value)}")
    return found, faults


def not_sizes(settings, keys, *, largest=None, at_least=1):
    """Find the sizes that are missing or no sizes.

    Parameters
    ----------
    settings : dict of str to object
        What config.json holds.
    keys : iterable of str
        The sizes that must be there.
    largest : dict of (str, int), optional
        By key the largest value, where that is less than 2**31 - 1.
    at_least : int, optional
        The smallest value.

    Returns
    -------
    list of str
        One fault for each.
    """
    faults = []
    for key in keys:
        most = (largest or {}).get(key, LARGEST_SIZE)
        if key not in settings:
            faults.append(f"{key} is missing")
        elif not (is_integer(settings[key]) and at_least <= settings[key] <= most):
            faults.append(f"{key} must be an integer from {at_least} to {most}, got {shown(settings[key])}")
    return faults


def not_choices(settings, choices):
    """Find the settings that are none of the names we know, such as activations.

    Parameters
    ----------
    settings : dict of str to object
        Settings that are there.
    choices : dict of (str, iterable of str)
        By key what is supported.

    Returns
    -------
    list of str
        One fault for each.
    """
    return [
        f"{key} must be one of {', '.join(names)}, got {shown(settings[key])}"
        for key, names in choices.items()
        if not isinstance(settings[key], str) or settings[key] not in names
    ]


def not_numbers(settings, ranges):
    """Find the settings that are no numbers or out of range.

    Parameters
    ----------
    settings : dict of str to object
        Settings that are there.
    ranges : dict of (str, tuple of float)
        By key the bounds, between which the number must lie.

    Returns
    -------
    list of str
        One fault for each.
    """
    return [
        f"{key} must be a number between {low:g} and {high:g}, got {shown(settings[key])}"
        for key, (low, high) in ranges.items()
        if not is_number(settings[key]) or not low < settings[key] < high
    ]


def count_labels(settings):
    """Count the labels: `transformers` keeps their names, from which it counts them, or the count alone.

    Parameters
    ----------
    settings : dict of str to object
        What config.json holds.

    Returns
    -------
    n_label : int
        Their number, 2 where nothing is said.
    faults : list of str
        What is wrong.
    """
    names, count = settings.get("id2label"), settings.get("num_labels")
    if names is not None and (not isinstance(names, dict) or not names):
        return 0, [f"id2label must be an object of labels, got {shown(names)}"]
    if count is not None and not (is_integer(count) and 1 <= count <= LARGEST_SIZE):
        return 0, [f"num_labels must be an integer from 1 to {LARGEST_SIZE}, got {shown(count)}"]
    if names is not None and count is not None and len(names) != count:
        return 0, [f"num_labels must be the number of labels in id2label, {len(names)}, got {count}"]
    return (len(names) if names is not None else count or 2), []
