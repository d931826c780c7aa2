"""Reads [{"code": …, "folder": …, "is_cell": …}] from stdin; prints for each which modules that the code surely imports are not
there, and where it is no Python."""

import ast
import importlib.util
import json
import sys

FLAGS = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


def parsed(code, is_cell):
    # Lines for IPython are no Python.
    lines = ["" if is_cell and line.lstrip().startswith(("%", "!")) else line for line in code.split("\n")]
    try:
        return compile("\n".join(lines), "code", "exec", FLAGS)
    except SyntaxError:
        if not is_cell:
            raise
        try:
            from IPython.core.inputtransformer2 import TransformerManager
        except ImportError:
            # Nobody here can say what it means.
            return ast.Module([], [])
        return compile(TransformerManager().transform_cell(code), "code", "exec", FLAGS)


def imported(code, is_cell):
    # Only what is at the outer level: an import in a `try`, an `if` or a function may be meant to fail, or never run.
    for statement in parsed(code, is_cell).body:
        if isinstance(statement, ast.Import):
            yield from (name.name.split(".")[0] for name in statement.names)
        elif isinstance(statement, ast.ImportFrom) and statement.level == 0 and statement.module:
            yield statement.module.split(".")[0]


def is_there(name, folder):
    sys.path[0] = folder
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return name in sys.modules


def look(source):
    code, folder = source["code"], source["folder"]
    try:
        names = list(dict.fromkeys(imported(code, source["is_cell"])))
    except SyntaxError as error:
        return {"missing": [], "error": {"line": error.lineno or 1, "message": error.msg}}
    except ValueError as error:
        return {"missing": [], "error": {"line": 1, "message": str(error)}}
    # Whoever installs something in a cell knows best what is missing.
    own = [line for line in code.splitlines() if line.lstrip().startswith(("%", "!"))]
    if source["is_cell"] and any(" install" in line for line in own):
        return {"missing": [], "error": None}
    return {"missing": [name for name in names if not is_there(name, folder)], "error": None}


print(json.dumps([look(source) for source in json.load(sys.stdin)]))
