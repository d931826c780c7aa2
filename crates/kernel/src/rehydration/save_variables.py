# Run inside the kernel with a namespace of its own: saves the session's variables into FOLDER, each in the plainest form
# that brings back the same value, and writes index.json last. Whatever cannot be saved is listed with the reason.
import json
import math
import os
import pickle
import re
import sys
import types

shell = get_ipython()
os.makedirs(FOLDER, exist_ok=True)
saved, modules, unsaved, generators = [], [], [], []
values = {"values": {}}


class HereDefined(Exception):
    pass


class Pickler(pickle.Pickler):
    # A class or function of the session pickles by name only, and a fresh session does not have it.
    def reducer_override(self, thing):
        if isinstance(thing, (type, types.FunctionType)) and getattr(thing, "__module__", None) == "__main__":
            raise HereDefined(thing.__qualname__)
        return NotImplemented


def is_plain(value, depth=0):
    if value is None or type(value) in (bool, str):
        return True
    if type(value) is int:
        return abs(value) < 2**63
    if type(value) is float:
        return math.isfinite(value)
    if depth < 20 and type(value) is list:
        return all(is_plain(item, depth + 1) for item in value)
    if depth < 20 and type(value) is dict:
        return all(type(key) is str and is_plain(item, depth + 1) for key, item in value.items())
    return False


def same_frame(one, other):
    return (
        type(one) is type(other)
        and one.equals(other)
        and list(one.columns) == list(other.columns)
        and list(one.dtypes) == list(other.dtypes)
        and type(one.index) is type(other.index)
        and one.index.equals(other.index)
        and one.index.names == other.index.names
        and one.columns.names == other.columns.names
        and one.attrs == other.attrs
    )


def save(name, value, number):
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    try:
        plain = is_plain(value) and len(json.dumps(value)) < 1_000_000
        if plain and json.loads(json.dumps(value)) == value:
            values["values"][name] = value
            return {"as": "value"}
    except (ValueError, UnicodeError, RecursionError):
        pass
    if numpy and type(value) is numpy.ndarray and not value.dtype.hasobject and value.dtype.metadata is None:
        file = f"v{number}.npy"
        numpy.save(os.path.join(FOLDER, file), value, allow_pickle=False)
        return {"as": "npy", "file": file}
    if pandas and type(value) in (pandas.DataFrame, pandas.Series):
        file = f"v{number}.parquet"
        path = os.path.join(FOLDER, file)
        try:
            is_series = type(value) is pandas.Series
            frame = value.to_frame() if is_series else value
            frame.to_parquet(path)
            back = pandas.read_parquet(path)
            if is_series and value.name == back.columns[0] and same_frame(back, frame):
                return {"as": "series", "file": file}
            if not is_series and same_frame(back, frame):
                return {"as": "parquet", "file": file}
        except Exception:
            pass
        if os.path.exists(path):
            os.remove(path)
    file = f"v{number}.pickle"
    path = os.path.join(FOLDER, file)
    try:
        with open(path, "wb") as target:
            Pickler(target, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    except BaseException:
        os.remove(path)
        raise
    return {"as": "pickle", "file": file}


hidden = getattr(shell, "user_ns_hidden", {})
for number, (name, value) in enumerate(sorted(shell.user_ns.items(), key=lambda item: item[0])):
    if re.fullmatch(r"_i*|_{1,3}|_i?\d+|_ih|_oh|_dh|_exit_code|__\w+__|_checkstone_\w+|__checkstone", name):
        continue
    if name in hidden and hidden[name] is value:
        continue
    if isinstance(value, types.ModuleType):
        modules.append({"name": name, "module": value.__name__})
        continue
    kind = type(value).__module__ + "." + type(value).__qualname__
    try:
        if isinstance(value, (type, types.FunctionType)) and getattr(value, "__module__", None) == "__main__":
            raise HereDefined(name)
        saved.append({"name": name, **save(name, value, number)})
    except HereDefined as here:
        why = f"{here} is defined in the session and not in a module; a stage that needs it has to define it"
        unsaved.append({"name": name, "type": kind, "why": why})
    except Exception as error:
        why = f"{type(error).__name__}: {error}"[:500]
        unsaved.append({"name": name, "type": kind, "why": why})

if "random" in sys.modules:
    generators.append("random")
    values["random"] = sys.modules["random"].getstate()
if "numpy.random" in sys.modules:
    state = sys.modules["numpy"].random.get_state()
    if state[0] == "MT19937":
        generators.append("numpy")
        values["numpy"] = [state[0], state[1].tolist(), *state[2:]]


def write(file, content):
    path = os.path.join(FOLDER, file)
    with open(path + ".tmp", "w", encoding="utf-8") as target:
        json.dump(content, target)
        target.flush()
        os.fsync(target.fileno())
    os.replace(path + ".tmp", path)


write("values.json", values)
write(
    "index.json",
    {"version": 1, "saved": saved, "modules": modules, "unsaved": unsaved, "generators": generators},
)
