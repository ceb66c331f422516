"""Writes docs/commands.md and docs/settings.md from the code: `make docs`. A test checks that they are current."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import typer

from knowwhen.cli.main import app
from knowwhen.models import MODELS
from knowwhen.training.config import settings
from knowwhen.training.recipes import recipes
from knowwhen.tuning.space import spaces

FOLDER = Path(__file__).parent
NOTE = "<!-- made by `make docs`; edit the code instead -->\n\n"


def commands_page() -> str:
    lines = ["# Commands\n\n", NOTE, "Data on stdout (`--json` on every command), progress on stderr "]
    lines += ["(`--quiet` leaves it out); exit 0 done, 1 our error in one line, 2 usage, 130 interrupted.\n"]
    for path, command in commands(typer.main.get_command(app), "knowwhen"):
        lines += [f"\n## {path}\n\n", f"{(command.help or '').replace('Example: ', 'Example: `').strip()}`\n\n"]
        lines += ["| argument or option | default | meaning |\n|---|---|---|\n"]
        for parameter in command.params:
            if parameter.name != "help":
                lines.append(row(parameter))
    return "".join(lines)


def commands(command: object, path: str) -> Iterator[tuple[str, object]]:
    children = getattr(command, "commands", None)
    if children is None:
        yield path, command
    for name, child in sorted((children or {}).items()):
        yield from commands(child, f"{path} {name}")


def row(parameter: object) -> str:
    name = (
        ", ".join(parameter.opts) if parameter.opts[0].startswith("-") else parameter.metavar or parameter.name.upper()
    )
    default = "" if parameter.default in (None, False, ()) or parameter.required else f"`{parameter.default}`"
    return f"| `{name}` | {default} | {getattr(parameter, 'help', None) or ''} |\n"


def settings_page() -> str:
    names = [name for name, model in MODELS.items() if model.__module__.startswith("knowwhen.")]
    by_model = {name: settings(name) for name in names}
    shared = {key: values for key, values in by_model[names[0]].items() if key not in own_options(names[0])}
    terms = {key: values for key, values in shared.items() if key.count(".") > 1}
    lines = ["# Settings\n\n", NOTE, "In TOML under `[section]`, on the command line as `--set section.key=value`.\n\n"]
    lines += table({key: values for key, values in shared.items() if key not in terms})
    lines += [
        "\n## Models\n\n",
        "Options that belong to the chosen model; [models.md](models.md) says what each model is.\n\n",
    ]
    lines += ["| setting | models | default | allowed | meaning |\n|---|---|---|---|---|\n"]
    for (key, rest), models in models_by_option(by_model).items():
        shown = "all" if models == names else ", ".join(f"`{name}`" for name in models)
        lines.append(f"| `{key}` | {shown} | {rest} |\n")
    lines += [
        "\n## Evidence terms\n\n",
        "Options of each term in `model.evidence`; [evidence.md](evidence.md) has more.\n\n",
    ]
    lines += table(terms)
    lines += ["\n## Recipes\n\n", "Named author-year-model-dataset; `--recipe NAME` takes one, `--set` changes it.\n\n"]
    lines += [f"- `{name}`\n" for name in recipes()]
    lines += [
        "\n## Spaces\n\n",
        "What `knowwhen tune --space NAME` searches; [tuning.md](tuning.md) shows how to write one.\n\n",
    ]
    lines += ["| space | settings | for |\n|---|---|---|\n", *map(space_row, spaces())]
    return "".join(lines)


def space_row(name: str) -> str:
    values = tomllib.loads(spaces()[name].read_text(encoding="utf-8"))
    note = values.pop("about")["note"]
    searched = ", ".join(f"`{section}.{key}`" for section, keys in values.items() for key in keys)
    return f"| `{name}` | {searched} | {note} |\n"


def table(found: Mapping[str, Mapping[str, object]]) -> list[str]:
    rows = [f"| `{key}` | {described(values)} |\n" for key, values in found.items()]
    return ["| setting | default | allowed | meaning |\n|---|---|---|---|\n", *rows]


def described(values: Mapping[str, object]) -> str:
    return f"`{values['default']}` | {allowed(values)} | {values['description']}"


def own_options(model: str) -> list[str]:
    return [f"model.{field}" for field in MODELS[model].Options.model_fields]


def models_by_option(by_model: Mapping[str, Mapping[str, Mapping[str, object]]]) -> dict[tuple[str, str], list[str]]:
    """The models that have each option; two that differ in default or meaning are two options."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, values in by_model.items():
        for key in own_options(name):
            found.setdefault((key, described(values[key])), []).append(name)
    return found


def allowed(values: Mapping[str, object]) -> str:
    if "enum" in values:
        return ", ".join(str(value) for value in values["enum"])
    bounds = {"minimum": "from {}", "exclusiveMinimum": "above {}", "maximum": "to {}", "exclusiveMaximum": "below {}"}
    limits = " ".join(text.format(values[key]) for key, text in bounds.items() if key in values)
    return f"{values['type']} {limits}".strip()


PAGES = {"commands.md": commands_page, "settings.md": settings_page}


def main() -> None:
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
