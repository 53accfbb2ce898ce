"""Syntax trees of source files.

In CPython 3.11, ``ast.parse`` fails with "AST constructor recursion depth mismatch" when another thread of the process
parses, too. A thread does so when it formats a traceback. A process of its own is not affected.
"""

import ast
import pickle
import subprocess
import sys

_SCRIPT = """
import ast, pathlib, pickle, sys
sys.setrecursionlimit(10_000)
trees = [ast.parse(text) for text in pickle.load(sys.stdin.buffer)]
sys.stdout.buffer.write(pickle.dumps(trees))
"""


def trees(texts):
    """Return the syntax tree of each of these texts of Python, in their order."""
    done = subprocess.run(
        [sys.executable, '-c', _SCRIPT], input=pickle.dumps(list(texts)), stdout=subprocess.PIPE, check=True
    )
    return pickle.loads(done.stdout)


def literals(texts):
    """Return the value of each of these texts, each a Python literal, in their order."""
    return [ast.literal_eval(tree.body[0].value) for tree in trees(texts)]  # noqa: TID251
