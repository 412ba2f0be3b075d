"""Small changes of the functions of a file, each of which a test should notice."""

import ast
from collections import Counter
from pathlib import Path
from typing import Callable, Dict, Iterator, List, NamedTuple, Tuple

# In each line, the first becomes each of the others.
COMPARISONS: Dict[type, Tuple[type, ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
OPERATORS: Dict[type, Tuple[type, ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
}
LEFT_OUT = (ast.AugAssign, ast.Raise, ast.Continue, ast.Break)
NAMES = {"min": "max", "any": "all", "minimum": "maximum", "argmin": "argmax"}
NAMES.update({"amin": "amax", "ceil": "floor", "zeros": "ones", "append": "remove"})
NAMES.update({"starts": "ends", "start": "end", "cummax": "cummin"})
SWAPPED = {**NAMES, **{after: before for before, after in NAMES.items()}}


class Mutant(NamedTuple):
    """A change of a file. Its name stays when other functions of the file change.

    number (int): where it stands among the changes of the file.
    line, end (int): the lines of its statement or expression.
    """

    file: str
    number: int
    function: str
    line: int
    end: int
    before: str
    after: str
    n: int

    @property
    def name(self) -> str:
        """The file, the function and the change; `n` counts equal ones."""
        again = f" ({self.n})" if self.n > 1 else ""
        return f"{self.file}:{self.function}: {self.before} -> {self.after}{again}"


class Change(NamedTuple):
    """A change of the tree, and the node whose line it is on."""

    node: ast.AST
    make: Callable[[], None]


def field_change(
    owner: ast.AST, field: str, value: object, node: ast.AST | None = None
) -> Change:
    """RETURNS (Change): another value of a field, noted for `node` or its owner."""
    return Change(node or owner, lambda: setattr(owner, field, value))


def item_change(items: List, place: int, value: object, node: ast.AST) -> Change:
    """RETURNS (Change): another item of a list, on the line of `node`."""
    return Change(node, lambda: items.__setitem__(place, value))


def operators(node: ast.AST) -> Iterator[Change]:
    """YIELDS (Change): another operator in its place."""
    if isinstance(node, ast.Compare):
        for place, op in enumerate(node.ops):
            for other in COMPARISONS[type(op)]:
                yield item_change(node.ops, place, other(), node)
    if isinstance(node, (ast.BinOp, ast.AugAssign, ast.BoolOp)):
        for other in OPERATORS.get(type(node.op), ()):
            yield field_change(node, "op", other())


def values(node: ast.AST) -> Iterator[Change]:
    """YIELDS (Change): another number, truth or name in its place."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield field_change(node, "value", not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        yield field_change(node, "value", node.value + 1)
        yield field_change(node, "value", node.value - 1)
    is_read = isinstance(getattr(node, "ctx", None), ast.Load)
    if isinstance(node, ast.Name) and node.id in SWAPPED and is_read:
        yield field_change(node, "id", SWAPPED[node.id])
    if isinstance(node, ast.Attribute) and node.attr in SWAPPED and is_read:
        yield field_change(node, "attr", SWAPPED[node.attr])


def conditions(node: ast.AST) -> Iterator[Change]:
    """YIELDS (Change): a condition negated, or a sign removed."""
    with_test = isinstance(node, (ast.If, ast.IfExp, ast.While))
    # `operators` negates comparisons.
    if with_test and not isinstance(node.test, (ast.Compare, ast.UnaryOp)):
        yield field_change(node, "test", ast.UnaryOp(ast.Not(), node.test))
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.UnaryOp):
            yield field_change(node, field, value.operand, value)
        for place, item in enumerate(value if isinstance(value, list) else []):
            if isinstance(item, ast.UnaryOp):
                yield item_change(value, place, item.operand, item)


def statements(node: ast.AST) -> Iterator[Change]:
    """YIELDS (Change): a statement left out, or a value not returned."""
    for field in ("body", "orelse", "finalbody"):
        body = getattr(node, field, None)
        for place, item in enumerate(body if isinstance(body, list) else []):
            is_call = isinstance(getattr(item, "value", None), ast.Call)
            if isinstance(item, LEFT_OUT) or (isinstance(item, ast.Expr) and is_call):
                yield item_change(body, place, ast.Pass(), item)
            elif isinstance(item, ast.Return) and item.value is not None:
                yield field_change(item, "value", ast.Constant(None))


def code_nodes(
    node: ast.AST, names: Tuple[str, ...] = (), *, inside: bool = False
) -> Iterator[Tuple[ast.AST, str]]:
    """YIELDS (Tuple[ast.AST, str]): all that runs when functions are called, with the
    name of the function.
    """
    is_function = isinstance(node, ast.FunctionDef)
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        names = (*names, node.name)
    if inside or is_function:
        yield node, ".".join(names)
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        called = inside or (is_function and field == "body")
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from code_nodes(child, names, inside=called)


def changes(tree: ast.Module) -> Iterator[Tuple[str, Change]]:
    """YIELDS (Tuple[str, Change]): all changes in a fixed order, with the function."""
    for node, function in code_nodes(tree):
        for kind in (operators, values, conditions, statements):
            for change in kind(node):
                yield function, change


def text_of(node: ast.AST) -> List[str]:
    """RETURNS (List[str]): the lines of the code, all written in the same way."""
    return ast.unparse(ast.fix_missing_locations(node)).split("\n")


def difference(before: List[str], after: List[str]) -> Tuple[str, str]:
    """RETURNS (Tuple[str, str]): the lines in which two texts differ."""
    pairs = [(a.strip(), b.strip()) for a, b in zip(before, after) if a != b]
    return " / ".join(a for a, _ in pairs), " / ".join(b for _, b in pairs)


def mutate(source: str, number: int) -> Tuple[ast.Module, ast.AST, str]:
    """RETURNS (Tuple[ast.Module, ast.AST, str]): the code with one change, the node
    that it changes, and the function it is in.
    """
    tree = ast.parse(source)
    function, change = list(changes(tree))[number]
    change.make()
    return ast.fix_missing_locations(tree), change.node, function


def mutants_of(root: Path, file: str) -> List[Mutant]:
    """RETURNS (List[Mutant]): all mutants of a file."""
    source = (root / file).read_text(encoding="utf8")
    clean, seen = text_of(ast.parse(source)), Counter[Tuple]()
    found = []
    for number in range(sum(1 for _ in changes(ast.parse(source)))):
        tree, node, function = mutate(source, number)
        before, after = difference(clean, text_of(tree))
        seen[function, before, after] += 1
        line = getattr(node, "lineno", 1)
        end = getattr(node, "end_lineno", None) or line
        n = seen[function, before, after]
        found.append(Mutant(file, number, function, line, end, before, after, n))
    return found
