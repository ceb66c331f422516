"""The site's menu is the index of docs/README.md: bold lines are menus, links to pages and notebooks are entries.

Links that show the name of a file, which reads well in a repository, show the title of the page on the site.
"""

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


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Called by MkDocs with the text of each page."""
    return with_titles(markdown, Path(config["docs_dir"]))


def with_titles(markdown: str, folder: Path) -> str:
    """The text with `[data.md](data.md#dates)` as `[Data](data.md#dates)`."""
    return re.sub(r"\[([\w-]+\.md)\](?=\(\1[#)])", lambda link: f"[{_title(folder / link[1])}]", markdown)


def _title(page: Path) -> str:
    return page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
