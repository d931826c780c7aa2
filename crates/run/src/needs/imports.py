"""Reads [{"code": …, "folder": …}] from stdin; prints which modules that the code surely imports are not there, for each."""

import ast
import importlib.util
import json
import sys


def imported(code):
    # Lines for IPython are no Python; whoever installs something there knows best what is missing.
    lines = code.splitlines()
    own = [line for line in lines if line.lstrip().startswith(("%", "!"))]
    if any(" install" in line for line in own):
        return
    plain = "\n".join("" if line in own else line for line in lines)
    # Only what is at the outer level: an import in a `try`, an `if` or a function may be meant to fail, or never run.
    for statement in ast.parse(plain).body:
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


def missing(source):
    try:
        return [name for name in dict.fromkeys(imported(source["code"])) if not is_there(name, source["folder"])]
    except SyntaxError:
        return []


print(json.dumps([missing(source) for source in json.load(sys.stdin)]))
