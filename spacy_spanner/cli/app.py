"""The command group `python -m spacy spanner` of spaCy's command line.

Each command has its own file: it parses arguments, calls functions that return data,
and prints. Slow imports such as torch are made inside the command, so that they do not
delay other commands of spaCy.
"""

import typer

app = typer.Typer(
    name="spanner",
    help="Data, evaluation and analysis for span-based named entity recognition",
    no_args_is_help=True,
)
