"""Text as it is written: pieces of a string, as soon as they are whole."""


def pieces(texts, to_string, *, row=0):
    """Turn growing tokens into growing strings.

    Parameters
    ----------
    texts : iterator of Text
        What `greedy`, `sample` and the like return.
    to_string : callable
        ``to_string(tokens) -> str``, such as the `decode` of a tokenizer.
    row : int, optional
        Which row of the batch.

    Returns
    -------
    iterator of str
        What is new after each token; joined, they are the string of all.  A character whose bytes have not all come
        is held back.
    """
    shown = string = ""
    for text in texts:
        string = to_string(text.written()[row])
        # Tokens may end within a character, which shows as U+FFFD until the rest has come.
        whole = string.rstrip("\N{REPLACEMENT CHARACTER}")
        if len(whole) > len(shown) and whole.startswith(shown):
            yield whole[len(shown) :]
            shown = whole
    if len(string) > len(shown):
        yield string[len(shown) :]
