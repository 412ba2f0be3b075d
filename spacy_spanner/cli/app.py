"""The group of commands `python -m spacy spanner` inside the command line of spaCy.

A command is a thin shell in a file of its own: it reads arguments, calls functions that
return data, and prints. What is slow to import, torch above all, is imported inside the
command, so that other commands of spaCy start as fast as without this package.
"""

import typer

app = typer.Typer(
    name="spanner",
    help="Data, evaluation and analysis for span-based named entity recognition",
    no_args_is_help=True,
)
