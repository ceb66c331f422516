"""The site's menu is the index of docs/README.md: bold lines are menus, links to pages and notebooks are entries."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any


def menus(index: str) -> list[dict[str, list[str]]]:
    parts = re.split(r"^\*\*(.+)\*\*$", index, flags=re.M)
    return [
        {title: [re.sub(r"ipynb$", "ipynb.md", page) for page in re.findall(r"^- \[.+?\]\((\S+)\)", text, re.M)]}
        for title, text in zip(parts[1::2], parts[2::2], strict=True)
    ]


def on_config(config: Any) -> None:
    """Called by MkDocs before it reads pages."""
    index = Path(config["docs_dir"], "README.md").read_text(encoding="utf-8")
    config["nav"] = [{"Home": "README.md"}, *menus(index)]
