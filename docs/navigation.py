"""The site's menu is the index of docs/README.md: its bold lines are menus, its links to pages their entries."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any


def menus(index: str) -> list[dict[str, list[str]]]:
    parts = re.split(r"^\*\*(.+)\*\*$", index, flags=re.M)
    return [
        {title: re.findall(r"^- \[.+?\]\((\S+\.md)\)", text, re.M)}
        for title, text in zip(parts[1::2], parts[2::2], strict=True)
    ]


def on_config(config: Any) -> None:
    """Called by MkDocs before it reads pages."""
    index = Path(config["docs_dir"], "README.md").read_text(encoding="utf-8")
    config["nav"] = [{"Home": "README.md"}, *menus(index)]
