"""Write every config in configs/ from the table spacy_spanner/preflight/recipes.yml.

To change configs, edit the table and run `python scripts/write_configs.py`. The head of
the table explains its form.
"""

from pathlib import Path
from typing import Dict

import typer
from wasabi import msg

from spacy_spanner.files import write_text
from spacy_spanner.preflight.ensemble_configs import ensemble_configs
from spacy_spanner.preflight.recipes import TABLE, make_config, read_table, recipes

FOLDER = Path(__file__).resolve().parents[1] / "configs"
SOURCE = "Written by scripts/write_configs.py from recipes.yml: edit that table."


def make_configs(table: Path = TABLE) -> Dict[str, str]:
    """RETURNS (Dict[str, str]): the texts of all configs, by path in their folder."""
    content = read_table(table)
    columns = content["columns"]
    texts = {one.path: make_config(one, columns, SOURCE) for one in recipes(content)}
    return {**texts, **dict(ensemble_configs(content, SOURCE))}


def main(
    folder: Path = typer.Argument(FOLDER, help="Folder to write to"),
    check: bool = typer.Option(
        False, "--check", help="Write nothing; fail if a file differs from the table"
    ),
) -> None:
    """Write every config that the table names."""
    texts = make_configs()
    current = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf8")
        for path in sorted(folder.rglob("*.cfg"))
    }
    changed = [path for path in texts if texts[path] != current.get(path)]
    unknown = [path for path in current if path not in texts]
    if unknown:
        msg.warn(f"Not in the table, to be deleted: {', '.join(unknown)}")
    if check and changed:
        msg.fail(f"Not as the table says: {', '.join(changed)}")
    if check:
        raise typer.Exit(int(bool(changed or unknown)))
    for path in changed:
        write_text(folder / path, texts[path])
    msg.good(f"{len(texts)} configs, {len(changed)} of them changed")


if __name__ == "__main__":
    typer.run(main)
