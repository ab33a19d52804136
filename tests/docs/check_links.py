#!/usr/bin/env python3
"""Every link to a file, and every `path/like/this` in backquotes with a slash and a suffix, in README.md and docs/*.md exists."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")
QUOTED = re.compile(r"`((?:bench|cmake|compiler|cost_model|docs|frontends|runtime|tests|tools)/[\w./-]+)`")


def faults(file):
    text = re.sub(r"^```.*?^```$", lambda m: "\n" * m.group(0).count("\n"), file.read_text(encoding="utf-8"), flags=re.M | re.S)
    for number, line in enumerate(text.splitlines(), 1):
        for target, _ in LINK.findall(line):
            if not target.startswith(("http://", "https://", "mailto:")) and not (file.parent / target).exists():
                yield f"{file.relative_to(ROOT)}:{number}: there is no {target}"
        for target in QUOTED.findall(line):
            if not (ROOT / target).exists():
                yield f"{file.relative_to(ROOT)}:{number}: there is no {target}"


def main():
    files = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found = [f for file in files for f in faults(file)]
    print("\n".join(found) or f"{len(files)} documents, every link leads somewhere")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
