"""The recipes of the models: settings that belong together, from the table recipes.yml.

The head of the table explains its form. `recipe` gives the settings of one component;
the files in `configs/` are written from the same table.
"""

import math
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import spacy
import srsly
from thinc.api import Config

from ..errors import Errors
from ..settings import one_of, require
from .config_text import Comments, config_text
from .marked_values import Tree, merge, reason, split, unmarked
from .starter_config import PREFIX, Wishes, build_config, filled, find_factory

TABLE = Path(__file__).parent / "recipes.yml"
RECIPES = ("tuned", "paper")
SECTIONS = ("paths", "vars", "nlp", "components", "corpora", "training", "initialize")
# Keys of a layer that are not settings.
ABOUT = {"heading", "title", "data", "start", "use", "parts", "examples", "warm_up"}
ABOUT |= {"models"}
JOINED = "train+dev"


class Recipe(NamedTuple):
    """The parts of the table that make one config.

    path (str): the file, relative to the folder of the configs.
    factory (str): the span component.
    layers (List[Tree]): the parts; later ones override earlier ones.
    """

    path: str
    factory: str
    layers: List[Tree]

    def about(self, key: str, default: Any = None) -> Any:
        """RETURNS (Any): the value of a key in the last layer that has it."""
        return next((x[key] for x in reversed(self.layers) if key in x), default)

    def settings(self, columns: Dict[str, str]) -> List[Tree]:
        """RETURNS (List[Tree]): the settings of each layer, as blocks of a config."""
        return [
            blocks(
                self.factory,
                {columns.get(k, k): v for k, v in layer.items() if k not in ABOUT},
            )
            for layer in self.layers
        ]


def recipes(table: Tree) -> Iterator[Recipe]:
    """YIELDS (Recipe): one for each config of the table."""
    shared = table["shared"]
    for encoder, layer in table["encoders"].items():
        for model in table["models"]:
            own = layer.get("models", {}).get(model, {})
            layers = [shared, layer, own]
            yield Recipe(f"{model}_{encoder}.cfg", f"span_{model}", layers)
    papers = {**table["papers"]}
    shared_by_papers = papers.pop("shared")
    for model, paper in papers.items():
        for corpus, row in paper["rows"].items():
            used = [paper[name] for name in row.get("use", ())]
            layers = [shared, shared_by_papers, table["corpora"][corpus], paper["all"]]
            path = f"paper/{model}_{corpus}.cfg"
            yield Recipe(path, f"span_{model}", [*layers, *used, row])


def blocks(factory: str, settings: Tree) -> Tree:
    """Turn settings by dotted name into blocks of a config.

    factory (str): the span component; names that do not start with a section are its
        settings.
    settings (Tree): values by dotted name.
    RETURNS (Tree): nested blocks.
    """
    tree: Tree = {}
    for name, value in settings.items():
        *parents, key = name.split(".")
        if [*parents, key][0] not in SECTIONS:
            parents = ["components", factory, *parents]
        block = tree
        for parent in parents:
            block = block.setdefault(parent, {})
        block[key] = value
    return tree


def used_paths(config: Tree) -> Tree:
    """RETURNS (Tree): the block [paths], without those that nothing refers to."""
    text = Config(config).to_str(interpolate=False)
    return {k: v for k, v in config["paths"].items() if f"${{paths.{k}}}" in text}


def plan_epochs(recipe: Recipe, config: Tree, comments: Comments) -> None:
    """Derive the steps of evaluation and schedules from the size of an epoch.

    recipe (Recipe): has the number of examples and the share of the warm-up.
    config (Tree): gets the steps.
    comments (Comments): gets their explanation.
    """
    training = config["training"]
    examples, warm_up = recipe.about("examples"), recipe.about("warm_up")
    batches = math.ceil(unmarked(examples) / training["batcher"]["size"])
    epochs = training["max_epochs"]
    steps = batches * epochs
    # With `max_epochs`, spaCy would stop one step before the last evaluation. The rates
    # have fallen to 0 at the step `max_steps`, so that it only evaluates.
    training.update(eval_frequency=batches, max_steps=steps, max_epochs=0)
    own = comments.setdefault("training", {})
    source = own.pop("max_epochs", "")
    own["max_steps"] = "; ".join(filter(None, [f"{epochs} epochs", source]))
    text = f"Once an epoch of {unmarked(examples):,} examples"
    own["eval_frequency"] = explained(text, examples)
    text = explained(f"{unmarked(warm_up):.0%} of the steps", warm_up)
    for group in ("encoder", "head"):
        schedule = training["optimizer"][group]
        schedule.update(warmup_steps=int(unmarked(warm_up) * steps), total_steps=steps)
        comments.setdefault(f"training.optimizer.{group}", {})["warmup_steps"] = text


def explained(text: str, value: Any) -> str:
    """RETURNS (str): a comment on a value, with the reason of the value."""
    return "; ".join(filter(None, [text, reason(value)]))


def plan_config(recipe: Recipe, columns: Dict[str, str]) -> Tuple[Config, Comments]:
    """RETURNS (Tuple[Config, Comments]): a config, not interpolated, and the reasons of
    its values.
    """
    start: Tree = {}
    for layer in recipe.layers:
        start.update(layer.get("start", {}))
    tree: Any = build_config(Wishes(recipe.factory, **start))
    for settings in recipe.settings(columns):
        tree = merge(tree, settings)
    config, comments = split(tree)
    components = config["components"]
    component = components.pop(recipe.factory)
    model = component["model"]
    if model["tok2vec"]["@architectures"].startswith("spacy_spanner."):
        model["tok2vec"] = filled(model["tok2vec"])
    components[recipe.factory] = component  # others run before it
    config["nlp"]["pipeline"] = list(components)
    config["paths"] = used_paths(config)
    if recipe.about("examples"):
        plan_epochs(recipe, config, comments)
    if recipe.about("parts") == JOINED:
        note = "Train and dev joined, as in the paper: model-last is the result"
        comments["paths"] = {"train": note}
    return Config(config), comments


def make_config(recipe: Recipe, columns: Dict[str, str], source: str) -> str:
    """RETURNS (str): the text of a config.

    source (str): the last line of its heading.
    """
    config, comments = plan_config(recipe, columns)
    about = {key: recipe.about(key, "") for key in ("title", "data")}
    heading = recipe.about("heading").format(factory=recipe.factory, **about)
    return config_text(config, f"{heading.strip()}\n{source}", comments)


def recipe(
    model: str, name: str = "tuned", dataset: Optional[str] = None
) -> Dict[str, Any]:
    """Get the settings of a component that belong together, for `nlp.add_pipe`.

    model (str): a factory of this package, with or without "span_".
    name (str): "tuned", the defaults of the factory, or "paper", the mechanisms and
        values of the paper; where it states none, those of the authors' code, or own
        ones, as the comments in `configs/paper` say.
    dataset (Optional[str]): a dataset of the paper; for "paper" only, which needs it.
    RETURNS (Dict[str, Any]): the settings, with those of the model.
    RAISES (ValueError): SP076 for an unknown model, SP002 for an unknown name, SP085 if
        the paper has no such dataset, SP030 for a dataset with "tuned".

    >>> nlp = spacy.blank("en")
    >>> settings = recipe("span_biaffine", "paper", "conll03")
    >>> settings["boundary_smoothing"], settings["decision"]
    (0.3, 'argmax')
    """
    spacy.blank("en")  # loads the factories
    factory = find_factory(model)
    require(one_of(RECIPES), recipe=name)
    if name == "tuned":
        _require_no_dataset(dataset)
        config = build_config(Wishes(factory))
    else:
        found = find_paper(factory, dataset)
        config, _ = plan_config(found, read_table()["columns"])
    settings = dict(config.interpolate()["components"][factory])
    del settings["factory"]
    return settings


def _require_no_dataset(dataset: Optional[str]) -> None:
    """RAISES (ValueError): SP030."""
    if dataset is not None:
        raise ValueError(
            Errors.SP030.format(
                first="recipe 'tuned'",
                second=f"dataset {dataset!r}",
                why="only the recipe 'paper' has datasets",
            )
        )


def paper_text(model: str, dataset: Optional[str], commands: Sequence[str]) -> str:
    """RETURNS (str): the config of a paper's recipe, with commands in its heading."""
    spacy.blank("en")  # loads the factories
    found = find_paper(find_factory(model), dataset)
    return make_config(found, read_table()["columns"], "\n".join(commands))


def find_paper(factory: str, dataset: Optional[str]) -> Recipe:
    """RETURNS (Recipe): the recipe of a paper for one of its datasets.

    RAISES (ValueError): SP085 if there is none.
    """
    found = papers_of(factory)
    if dataset is None or dataset not in found:
        raise ValueError(
            Errors.SP085.format(
                model=factory,
                dataset=dataset,
                existing=", ".join(sorted(found)),
            )
        )
    return found[dataset]


def papers_of(factory: str) -> Dict[str, Recipe]:
    """RETURNS (Dict[str, Recipe]): the recipes of a paper, by dataset."""
    start = f"paper/{factory[len(PREFIX) :]}_"
    return {
        Path(one.path).stem[len(start) - len("paper/") :]: one
        for one in recipes(read_table())
        if one.path.startswith(start)
    }


def read_table(table: Path = TABLE) -> Tree:
    """RETURNS (Tree): the table."""
    content: Tree = srsly.read_yaml(table)
    return content
