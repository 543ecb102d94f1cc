"""Examples at the end of ``--help``."""


def examples(*commands: str) -> str:
    """Return an epilog with one command a line; the help writer joins single line breaks."""
    return "\n\n".join(["Examples:", *(f"$ {command}" for command in commands)])
