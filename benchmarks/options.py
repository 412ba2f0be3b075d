"""Command line options that most benchmarks share."""

import typer
from common import DATASETS, ENCODERS, MODELS

DATA = typer.Argument(..., help="Folder with the datasets")
DATASET = typer.Option("genia", help=f"One of {', '.join(DATASETS)}")
ENCODER = typer.Option("cnn", help=f"One of {', '.join(ENCODERS)}")
SYSTEMS = typer.Option(MODELS, help="Comma-separated names of systems")
OUTPUT = typer.Option(None, help="JSON file to write")
