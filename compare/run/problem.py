"""What the user can put right, apart from what is our own fault."""


class Problem(ValueError):
    """A wrong name, folder, file or device; its message is one sentence, and the command ends with status 2."""
