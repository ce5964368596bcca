"""``python -m refimpl``: generate text, and train a small model to do so."""

from refimpl.commands.cli import main

if __name__ == "__main__":
    main()
