"""The command ``python -m refimpl``."""

import os
import sys
from typing import Annotated

from refimpl import __version__

try:
    import typer
    import typer.exceptions
except ImportError:
    sys.exit("refimpl: the commands need a few packages more: pip install 'refimpl[text]'")

from refimpl.commands import generate_command, train_command
from refimpl.commands.options import Interrupted

app = typer.Typer(
    help="Write text with a language model, or train a small one.\n\n"
    "Exit status: 0 all well; 1 nobody read the output to its end; 2 wrong usage, or a model that is refused; "
    "130 interrupted.",
    add_completion=False,
    rich_markup_mode=None,
)
app.command(epilog=generate_command.EXAMPLES)(generate_command.generate)
app.command(epilog=train_command.EXAMPLES)(train_command.train)


def main():
    """Run the command line; whatever the user can put right is one line on the standard error."""
    _in_utf8()
    try:
        status = app(args=sys.argv[1:] or ["--help"], standalone_mode=False)
        if status == 130:  # typer has caught the interrupt
            status = _complain("interrupted", status)
        sys.stdout.flush()
    except typer.exceptions.TyperException as error:
        status = _complain(error.format_message())
    except Interrupted as interrupt:
        status = _complain(interrupt, 130)
    except KeyboardInterrupt:
        status = _complain("interrupted", 130)
    except BrokenPipeError:
        _hang_up()
        status = 1
    except (ValueError, RuntimeError, OSError, MemoryError) as error:
        status = _complain(error)
    except ImportError as error:
        status = _complain(f"{error}; pip install 'refimpl[text]' brings what the commands need")
    sys.exit(status)


def _version(wanted: bool):
    if wanted:
        print(f"refimpl {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
):
    pass


def _in_utf8():
    """Write UTF-8 in any locale, as texts are read."""
    for stream, errors in ((sys.stdout, "strict"), (sys.stderr, "backslashreplace")):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors=errors)


def _hang_up():
    """Let a reader who has read enough go, as `head` does, without a word."""
    # Python would try to write the rest once more when it ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message, status=2):
    print(f"refimpl: {' '.join(str(message).split())}", file=sys.stderr)
    return status
