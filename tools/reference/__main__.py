"""``python -m tools.reference``: writes the reference again."""

from tools.reference import ROOT, written


def main() -> None:
    """Writes what differs and names it."""
    for path, text in written().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
