"""The mutants of a module: the module with one small change each.

Most operators are those of mutmut. The runner of mutmut is not used. It leaves out the statements of modules and the
decorated functions, which are the tables of clauses, the prepared SQL and all writers of Placement here.
"""

import ast
import difflib
import functools
import hashlib
from typing import NamedTuple

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation import mutators

from tests.support import syntax

#: Functions that take any number of arguments. To leave out one of them is a mutant.
_VARIADIC = {'where', 'and_', 'or_', 'select', 'values', 'filter', 'join', 'outerjoin', 'order_by', 'chain'}
#: {name: other name}, in both directions.
_PAIRS = {'and_': 'or_', 'is_': 'is_not', 'in_': 'not_in', 'any': 'all', 'min': 'max', 'true': 'false', 'asc': 'desc'}
_PAIRS |= {other: name for name, other in _PAIRS.items()}
_BOTH = (cst.Name('True'), cst.Name('False'))


class Mutant(NamedTuple):
    """A module with a change.

    :ivar module: path of the module from the checkout.
    :ivar function: its function, as Class.function; '' for a statement of the module.
    :ivar change: the lines that differ, as in a diff.
    :ivar lines: numbers of the lines that are executed if the change is.
    :ivar source: the text of the changed module.
    """

    module: str
    function: str
    change: str
    lines: frozenset[int]
    source: str

    @property
    def digest(self):
        """The digest of the changed module."""
        return hashlib.sha256(self.source.encode()).hexdigest()


def users(checkout, module, lines):
    """Return the numbers of the lines of functions that use what statements of the module define.

    :param checkout: as for ``of``.
    :param module: as for ``of``.
    :param lines: numbers of lines of the statements.
    """
    tree = _tree((checkout / module).read_text())
    statements = [each for each in tree.body if isinstance(each, ast.Assign)]
    names = set()
    found = [each for each in statements if not lines.isdisjoint(range(each.lineno, each.end_lineno + 1))]
    # Also what other statements define with it.
    while found:
        names.update(name.id for each in found for target in each.targets for name in _names(target))
        statements = [each for each in statements if each not in found]
        found = [each for each in statements if names.intersection(name.id for name in _names(each.value))]
    functions = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)]
    return {name.lineno for function in functions for name in _names(function) if name.id in names}


@functools.cache
def _tree(source):
    return syntax.trees([source])[0]


def _names(tree):
    return [each for each in ast.walk(tree) if isinstance(each, ast.Name)]


def other_branch(node):
    """Yield an ``if`` whose condition is always true, and always false."""
    yield from (node.with_changes(test=value) for value in _BOTH)


def other_name(node):
    """Yield the call of the opposite function: ``or_`` for ``and_``."""
    name = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
    if other := _PAIRS.get(getattr(name, 'value', None)):
        yield node.with_deep_changes(name, value=other)


def fewer_arguments(node):
    """Yield a call without one of its arguments, if it may still be valid."""
    name = getattr(node.func, 'attr', node.func)
    for place, argument in enumerate(node.args):
        if argument.keyword or argument.star or getattr(name, 'value', None) in _VARIADIC:
            yield node.with_changes(args=[*node.args[:place], *node.args[place + 1 :]])


def no_call(node):
    """Yield nothing in the place of a statement that only calls a function."""
    if isinstance(node.value, cst.Call):
        yield cst.Pass()


OPERATORS = (
    (cst.BaseNumber, mutators.operator_number),
    (cst.Name, mutators.operator_name),
    (cst.UnaryOperation, mutators.operator_remove_unary_ops),
    (cst.AugAssign, mutators.operator_augmented_assignment),
    (cst.CSTNode, mutators.operator_keywords),
    (cst.CSTNode, mutators.operator_swap_op),
    (cst.Match, mutators.operator_match),
    (cst.IfExp, other_branch),
    (cst.If, other_branch),
    (cst.CompIf, other_branch),
    (cst.Call, other_name),
    (cst.Call, fewer_arguments),
    (cst.Expr, no_call),
)
#: Nodes that decide nothing, among them the words of failures.
_LEFT_OUT = (cst.Annotation, cst.Import, cst.ImportFrom, cst.Decorator, cst.Raise, cst.FormattedString)


class _Finder(cst.CSTVisitor):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self):
        super().__init__()
        #: [(name of the function, lines, node, the changed node), …]
        self.found = []
        self._names, self._statement = [], None

    def on_visit(self, node):
        if isinstance(node, _LEFT_OUT):
            return False
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            self._names.append(node.name.value)
        line = self.get_metadata(PositionProvider, node).start.line
        if isinstance(node, cst.BaseStatement | cst.SimpleStatementLine):
            self._statement = line
        for kind, operator in OPERATORS:
            if isinstance(node, kind):
                lines = frozenset({line, self._statement} - {None})
                self.found += [('.'.join(self._names), lines, node, changed) for changed in operator(node)]
        return True

    def on_leave(self, original_node):
        if isinstance(original_node, cst.FunctionDef | cst.ClassDef):
            self._names.pop()


def of(checkout, module):
    """Return the mutants of a module: [Mutant, …].

    :param checkout: pathlib.Path.
    :param module: path of the module from the checkout.
    """
    tree = cst.parse_module((checkout / module).read_text())
    finder = _Finder()
    MetadataWrapper(tree, unsafe_skip_copy=True).visit(finder)
    changed = {tree.deep_replace(node, new).code: (name, lines) for name, lines, node, new in finder.found}
    changed.pop(tree.code, None)
    return [Mutant(module, name, _diff(tree.code, code), lines, code) for code, (name, lines) in changed.items()]


def _diff(before, after):
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm='')
    return '\n'.join(f'{line[0]} {line[1:].strip()}' for line in list(lines)[2:] if line[0] in '+-')
