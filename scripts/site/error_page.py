"""The page of all errors and warnings, from their messages and where they are used."""

import ast
import json
import re
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Set

from docstrings import shown
from links import ROOT

from spacy_spanner.errors import Errors, Warnings

PACKAGE = ROOT / "spacy_spanner"
NOTES = Path(__file__).parent / "error_notes.json"
HEAD = """\
# Errors and warnings

Every message of the package begins with its code, such as `[SP003]`. Search this page
for the code: it has the message, with the names of its values in *italics*, what to do,
and where in the code it comes from. Codes are never reused.

- `SP` codes are errors. Python programs get an exception; commands print the message
  and exit with code 1.
- `SW` codes are warnings: the work goes on. To treat them as errors, run Python with
  `-W error`. To silence one, use
  `warnings.filterwarnings("ignore", message=r"\\[SW008\\]")`.
"""
# Which codes belong together; see `spacy_spanner/errors`.
ROOMS = {
    "Component": "Components, settings, encoders and training",
    "Data": "Corpora and evaluation",
    "Job": "Checkpoints, annotation, parallel training and sweeps",
    "Review": "Errors in annotation, and the choice of texts",
}


class Use(NamedTuple):
    """Where a code is used.

    path (str): the file, relative to the package.
    raised (Optional[str]): the exception, if it is raised right there.
    """

    path: str
    raised: Optional[str]


def make_page() -> str:
    """RETURNS (str): the whole page."""
    uses, notes = find_uses(), json.loads(NOTES.read_text(encoding="utf8"))
    lines = [HEAD]
    for messages, kind in ((Errors, "errors"), (Warnings, "warnings")):
        for part in messages.__bases__:
            room = part.__name__.removesuffix("Errors").removesuffix("Warnings")
            title = ROOMS.get(room, room)
            lines += [f"\n## {title}: {kind}"]
            for code in (one for one in vars(part) if one.startswith("S")):
                text = getattr(messages, code)
                lines += code_section(code, text, uses.get(code, []), notes.get(code))
    return "\n".join(lines) + "\n"


def code_section(
    code: str, message: str, uses: List[Use], note: Optional[str]
) -> List[str]:
    """RETURNS (List[str]): lines about a code."""
    text = message.removeprefix(f"[{code}] ")
    what, to_do = split_message(text)
    raised = sorted({use.raised for use in uses if use.raised})
    lines = [f"\n### {code}", "", fill(what)]
    if to_do:
        lines += ["", f"**What to do:** {fill(to_do)}"]
    if note:
        lines += ["", note]
    paths = ", ".join(f"`{path}`" for path in sorted({use.path for use in uses}))
    kinds = f" as {', '.join(f'`{kind}`' for kind in raised)}" if raised else ""
    return [*lines, "", f"<small>Comes from {paths}{kinds}.</small>"]


# Verbs that begin what the reader is asked to do.
ADVICE = (
    "Add|Annotate|Call|Change|Check|Choose|Convert|Copy|Correct|Create|Decrease|Delete|Disable|"
    "Do not|Don't|Download|Enable|Export|Find|Fix|For|Give|If|Increase|Initialize|"
    "Install|Keep|"
    "Leave|List|Load|Lower|Make|Mark|Measure|Merge|Move|Name|Open|Pass|Prepare|Put|Raise|Read|"
    "Reduce|Remove|Rename|Repeat|Replace|Restart|Restore|Resume|Review|Run|Save|See|Select|Set|Sort|Split|Start|"
    "Stop|To|Train|Try|Tune|Update|Use|Wait|With|Write"
)
# Advice is a sentence, or stands after a colon.
BOUNDARY = re.compile(
    rf"(?<=[.:)}}]) (?=(?:{ADVICE})\b)|(?<=:) (?=(?:{ADVICE.lower()})\b)"
)


def split_message(text: str) -> List[str]:
    """RETURNS (List[str]): what is wrong, and what to do (or "")."""
    what, *to_do = BOUNDARY.split(text, maxsplit=1)
    return [what, *(to_do or [""])]


def fill(template: str) -> str:
    """RETURNS (str): a message as Markdown, with its values in italics."""
    text = template.replace("{{", "\x00").replace("}}", "\x01")
    parts = re.split(r"\{(\w+)[^{}]*\}", text)
    shown_parts = [
        f"*{part.replace('_', ' ')}*" if place % 2 else _literal(part)
        for place, part in enumerate(parts)
    ]
    return "".join(shown_parts).replace("\x00", "{").replace("\x01", "}")


def _literal(text: str) -> str:
    return shown(text).replace("[", "&#91;").replace("_", "\\_")


def find_uses() -> Dict[str, List[Use]]:
    """RETURNS (Dict[str, List[Use]]): where the package uses each code."""
    uses: Dict[str, List[Use]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf8"))
        raised: Dict[str, Set[str]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                name = ast.unparse(node.exc.func)
                for code in codes_in(node):
                    raised.setdefault(code, set()).add(name)
        for code in sorted(set(codes_in(tree))):
            kinds = sorted(raised.get(code, set())) or [None]
            place = path.relative_to(PACKAGE).as_posix()
            uses.setdefault(code, []).extend(Use(place, kind) for kind in kinds)
    return uses


def codes_in(tree: ast.AST) -> List[str]:
    """RETURNS (List[str]): the codes that a piece of code names."""
    return [
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in ("Errors", "Warnings")
        and re.fullmatch(r"S[PW]\d{3}", node.attr)
    ]
