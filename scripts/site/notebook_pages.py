"""Notebooks as pages of the site, with the outputs that they were stored with."""

import json
from pathlib import Path
from typing import Any, Dict, List


def make_pages(folder: Path) -> Dict[str, str]:
    """RETURNS (Dict[str, str]): Markdown of every notebook in a folder."""
    return {
        f"notebooks/{path.stem}.md": to_markdown(json.loads(path.read_text("utf8")))
        for path in sorted(folder.glob("*.ipynb"))
    }


def to_markdown(notebook: Dict[str, Any]) -> str:
    """RETURNS (str): the cells of a notebook and their outputs."""
    lines: List[str] = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            lines += [source, ""]
        elif cell["cell_type"] == "code" and source.strip():
            lines += ["```python", source, "```", ""]
            for output in cell["outputs"]:
                lines += [*_output(output), ""]
    return "\n".join(lines)


def _output(output: Dict[str, Any]) -> List[str]:
    """RETURNS (List[str]): an output; of several forms, the richest."""
    data = output.get("data", {})
    if "image/png" in data:
        picture = "".join(data["image/png"]).replace("\n", "")
        return [f'<img alt="Figure" src="data:image/png;base64,{picture}">']
    if "text/html" in data:
        # A blank line would end a block of HTML.
        rows = "".join(data["text/html"]).splitlines()
        return ['<div class="output">', *(row for row in rows if row.strip()), "</div>"]
    text = "".join(data.get("text/plain", output.get("text", [])))
    return ["```text", text.rstrip("\n"), "```"] if text.strip() else []
