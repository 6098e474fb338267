"""The command line."""


def main() -> None:
    """Runs the command of this process's arguments."""
    try:
        from hornada.cli.app import app
    except KeyboardInterrupt:
        raise SystemExit(130) from None

    app()
