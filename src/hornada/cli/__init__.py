"""The command line."""


def main() -> None:
    """Runs the command of this process's arguments."""
    from hornada.cli.app import app

    app()
