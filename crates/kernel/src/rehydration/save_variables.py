# Run inside the kernel with a namespace of its own: saves the session into FOLDER, and writes index.json last. Whatever
# cannot be saved is listed with the reason.
#
# A value that nothing else refers to has a plain file of its own, which anybody may load. All others are in one pickle, so that
# two names of one object are two names of one object again; functions and classes of the session are in it too, where
# there is cloudpickle. What was pickled is loaded on trial, by a child: what cannot be loaded is as good as not saved.
import functools
import importlib
import io
import json
import math
import mmap
import os
import pickle
import re
import select
import signal
import subprocess
import sys
import threading
import time
import types
import warnings
import weakref

shell = get_ipython()
session = shell.user_ns
os.makedirs(FOLDER, exist_ok=True)
saved, modules, unsaved, generators, surroundings, copies = [], [], [], [], [], []
values = {"values": {}}
TRIAL_SECONDS = 60
# What is larger is loaded on trial one variable at a time.
LARGE = 1 << 28


def cloudpickle_here():
    for name in ("cloudpickle", "joblib.externals.cloudpickle"):
        # Nothing large is imported for it.
        if name == "cloudpickle" or "joblib" in sys.modules:
            try:
                return importlib.import_module(name)
            except Exception:
                pass
    return None


cloudpickle = cloudpickle_here()
# A lock that nobody holds is like a new one. Classes with a cached property have one, and so have queues.
LOCKS = {type(make()): make for make in (threading.Lock, threading.RLock)}
# What `functools.lru_cache` makes.
CACHED = type(functools.lru_cache(len))
# Stands for the session itself, which functions of the session have as their globals.
STAND_IN = {"__name__": "__main__"}


def is_free(lock):
    if lock._is_owned() if hasattr(lock, "_is_owned") else lock.locked():
        return False
    is_acquired = lock.acquire(blocking=False)
    if is_acquired:
        lock.release()
    return is_acquired


class HereDefined(Exception):
    pass


class Pickler(cloudpickle.CloudPickler if cloudpickle else pickle.Pickler):
    def __init__(self, target):
        super().__init__(target, protocol=pickle.HIGHEST_PROTOCOL)
        if cloudpickle:
            self.globals_ref[id(session)] = STAND_IN

    def persistent_id(self, thing):
        if thing is session or thing is STAND_IN:
            return "session"
        owner = owners.get(id(thing))
        if owner is not None:
            shared.add(owner)
        return None

    def reducer_override(self, thing):
        numpy = sys.modules.get("numpy")
        root = preserved_root(thing)
        if root is not None:
            offset = address(thing) - address(root)
            return numpy.ndarray, (thing.shape, thing.dtype, root, offset, thing.strides)
        if is_file_in_memory(thing):
            # The file itself, and no copy of what is in it.
            mode = "r+" if thing.mode == "w+" else thing.mode
            order = "C" if thing.flags.c_contiguous else "F"
            return numpy.memmap, (thing.filename, thing.dtype, mode, thing.offset, thing.shape, order)
        if isinstance(thing, threading.Thread):
            raise TypeError("a thread cannot be saved")
        if type(thing) in LOCKS:
            if not is_free(thing):
                raise TypeError("a lock that somebody holds cannot be saved")
            return LOCKS[type(thing)], ()
        if type(thing) in (weakref.WeakKeyDictionary, weakref.WeakValueDictionary):
            return type(thing), (dict(thing),)
        if isinstance(thing, io.IOBase) and not isinstance(thing, (io.StringIO, io.BytesIO)):
            if thing not in (sys.stdin, sys.stdout, sys.stderr):
                raise TypeError("an open file cannot be saved")
        if cloudpickle and type(thing) is CACHED and thing.__module__ == "__main__":
            # It would be saved by its name. The cache begins empty.
            parameters = thing.cache_parameters()
            made_from = (thing.__wrapped__, parameters["maxsize"], parameters["typed"], functools._CacheInfo)
            return CACHED, made_from, thing.__dict__
        if cloudpickle:
            return super().reducer_override(thing)
        # A class or function of the session pickles by name only, and a fresh session does not have it.
        if isinstance(thing, (type, types.FunctionType)) and getattr(thing, "__module__", None) == "__main__":
            raise HereDefined(thing.__qualname__)
        return NotImplemented

    def _dynamic_function_reduce(self, function):
        reduced = super()._dynamic_function_reduce(function)
        if function.__globals__ is session:
            # Each of them is saved by itself, or named.
            reduced[2][1]["__globals__"] = {}
        return reduced


class Unpickler(pickle.Unpickler):
    def persistent_load(self, _):
        return session

    def find_class(self, module, name):
        # A fresh session has nothing of this one by its name.
        if module == "__main__":
            raise AttributeError(f"{name} is defined in the session and can only be saved by its name")
        return super().find_class(module, name)


class Sink:
    size = 0

    def write(self, data):
        self.size += memoryview(data).nbytes


# The mutable parts of values that may have a file of their own, and whose they are; those that others refer to as well.
owners, shared = {}, set()


def own(thing, name):
    if owners.setdefault(id(thing), name) != name:
        shared.update((name, owners[id(thing)]))


def root_of(array):
    """The array whose memory it is."""
    while isinstance(array.base, sys.modules["numpy"].ndarray):
        array = array.base
    return array


def address(array):
    return array.__array_interface__["data"][0]


def arrays():
    """The session's arrays by their names."""
    numpy = sys.modules.get("numpy")
    return {} if numpy is None else {n: session[n] for n in sorted(session) if isinstance(session[n], numpy.ndarray)}


def roots_of_session():
    """The memory that several names refer to, or one that is the whole of it."""
    roots, names = {}, {}
    for name, value in arrays().items():
        root = root_of(value)
        names.setdefault(id(root), set()).add(name)
        if root is value or len(names[id(root)]) > 1:
            roots[id(root)] = root
    return roots


def is_file_in_memory(thing):
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(thing) is numpy.memmap and type(thing.base) is mmap.mmap and bool(thing.filename)


def preserved_root(thing):
    """The array of which this one is a part, and stays so."""
    numpy = sys.modules.get("numpy")
    if numpy is None or type(thing) not in (numpy.ndarray, numpy.memmap) or thing.base is None:
        return None
    root = root_of(thing)
    if root is thing or not root.flags.c_contiguous:
        return None
    if not is_file_in_memory(root) and (id(root) not in roots or type(root) is not numpy.ndarray):
        return None
    if any(array.dtype.hasobject or array.dtype.metadata is not None for array in (thing, root)):
        return None
    return root if thing.flags.writeable == root.flags.writeable else None


def stays_part(array):
    return root_of(array) is array or preserved_root(array) is not None


roots = roots_of_session()


def is_plain(value, name, depth=0):
    if value is None or type(value) in (bool, str):
        return True
    if type(value) is int:
        return abs(value) < 2**63
    if type(value) is float:
        return math.isfinite(value)
    if depth >= 20 or type(value) not in (list, dict):
        return False
    if owners.get(id(value)) == name:
        # Twice in itself.
        shared.add(name)
    own(value, name)
    if type(value) is list:
        return all(is_plain(item, name, depth + 1) for item in value)
    return all(type(key) is str and is_plain(item, name, depth + 1) for key, item in value.items())


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


def plain_form(name, value):
    pandas = sys.modules.get("pandas")
    if is_simple_array(value):
        own(value, name)
        root = preserved_root(value)
        if root is not None:
            own(root, name)
        return "npy"
    if pandas and type(value) in (pandas.DataFrame, pandas.Series):
        own(value, name)
        return "parquet" if type(value) is pandas.DataFrame else "series"
    try:
        if is_plain(value, name) and len(json.dumps(value)) < 1_000_000 and json.loads(json.dumps(value)) == value:
            return "value"
    except (ValueError, UnicodeError, RecursionError):
        pass
    return None


def save_plain(name, value, form, number):
    """Whether the same value comes back from it."""
    if form == "value":
        values["values"][name] = value
        saved.append({"name": name, "as": form})
        return True
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    file = f"v{number}.{'npy' if form == 'npy' else 'parquet'}"
    path = os.path.join(FOLDER, file)
    try:
        if form == "npy":
            numpy.save(path, value, allow_pickle=False)
        else:
            frame = value.to_frame() if form == "series" else value
            frame.to_parquet(path)
            back = pandas.read_parquet(path)
            if not same_frame(back, frame) or (form == "series" and value.name != back.columns[0]):
                raise ValueError
    except Exception:
        if os.path.exists(path):
            os.remove(path)
        return False
    saved.append({"name": name, "as": form, "file": file})
    return True


def leave_out(name, error):
    value = session[name]
    kind = type(value).__module__ + "." + type(value).__qualname__
    why = f"{type(error).__name__}: {error}"[:500]
    if isinstance(error, HereDefined):
        why = f"{error} is defined in the session and not in a module; with cloudpickle in its environment it is saved"
    unsaved.append({"name": name, "type": kind, "why": why})


def collect():
    """The names of variables by how they are saved: modules, those with a plain form, and others."""
    hidden = getattr(shell, "user_ns_hidden", {})
    plain, others = {}, []
    for name, value in sorted(session.items(), key=lambda item: item[0]):
        if re.fullmatch(r"_i*|_{1,3}|_i?\d+|_ih|_oh|_dh|_exit_code|__\w+__|_checkstone_\w+|__checkstone", name):
            continue
        if name in hidden and hidden[name] is value:
            continue
        if isinstance(value, types.ModuleType):
            if sys.modules.get(value.__name__) is value:
                modules.append({"name": name, "module": value.__name__})
            else:
                leave_out(name, ImportError(f"no module {value.__name__} can be imported"))
            continue
        form = plain_form(name, value)
        if form:
            plain[name] = form
        else:
            others.append(name)
    return plain, others


sizes = {}


def is_simple_array(value):
    numpy = sys.modules.get("numpy")
    is_array = numpy is not None and type(value) is numpy.ndarray
    return is_array and not value.dtype.hasobject and value.dtype.metadata is None


def can_be_pickled(name):
    if is_simple_array(session[name]):
        # Always; and to try would read all of the memory that it is a part of, for each of the parts.
        root = root_of(session[name])
        sizes[name] = root.nbytes if owners.get(id(root)) == name else 0
        return True
    sink = Sink()
    try:
        Pickler(sink).dump(session[name])
    except Exception as error:
        leave_out(name, error)
        return False
    sizes[name] = sink.size
    return True


def pickle_all(names, path):
    with open(path, "wb") as target:
        Pickler(target).dump({name: session[name] for name in names})


def load_all(path):
    with open(path, "rb") as source:
        Unpickler(source).load()


def broken_names(names, path):
    """The variables that cannot be loaded, with the errors, as a child finds them that has all of the session."""
    if sum(sizes.get(name, 0) for name in names) < LARGE:
        try:
            return load_all(path) or {}
        except BaseException:
            pass
    broken = {}
    for name in names:
        if is_simple_array(session[name]):
            continue
        try:
            target = io.BytesIO()
            Pickler(target).dump(session[name])
            Unpickler(io.BytesIO(target.getvalue())).load()
        except BaseException as error:
            broken[name] = f"{type(error).__name__}: {error}"[:500]
    return broken


def tried_by_child(names, path):
    """As `broken_names`; None where the child came to no end."""
    if not hasattr(os, "fork"):
        return None
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        try:
            sys.stdout = sys.stderr = io.StringIO()
            answer = json.dumps(broken_names(names, path)).encode()
            while answer:
                answer = answer[os.write(write, answer) :]
        finally:
            os._exit(0)
    try:
        os.close(write)
        answer, until = b"", time.monotonic() + TRIAL_SECONDS
        while select.select([read], [], [], max(0, until - time.monotonic()))[0]:
            piece = os.read(read, 1 << 16)
            if not piece:
                return json.loads(answer) if answer else None
            answer += piece
        return None
    finally:
        os.close(read)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


LOADER = """
import pickle, sys
sys.path[:] = sys.argv[2:]
class Unpickler(pickle.Unpickler):
    def persistent_load(self, _):
        return globals()
with open(sys.argv[1], "rb") as source:
    Unpickler(source).load()
"""


def loads_in_fresh_python(path):
    """Why it cannot be loaded. A child may be in the way of itself, since it was forked; a fresh Python is not."""
    try:
        command = [sys.executable, "-c", LOADER, path, *sys.path]
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=TRIAL_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return None
    if done.returncode == 0:
        return None
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:500] if lines else f"exit status {done.returncode}"


class Unloadable(Exception):
    pass


def save_pickle(names):
    file = "session.pickle"
    path = os.path.join(FOLDER, file)
    while names:
        try:
            pickle_all(names, path)
        except Exception as error:
            for name in names:
                leave_out(name, error)
            names = []
            break
        broken = tried_by_child(names, path)
        why = None if broken == {} else loads_in_fresh_python(path)
        if why is None:
            break
        for name in list(names):
            if not broken or name in broken:
                names.remove(name)
                leave_out(name, Unloadable((broken or {}).get(name, why)))
    if names:
        saved.extend({"name": name, "as": "session", "file": file} for name in names)
    elif os.path.exists(path):
        os.remove(path)


def save_all():
    plain, others = collect()
    names = [name for name in others if can_be_pickled(name)]
    # What a pickled value refers to has to be pickled with it; so has what those refer to, and so on.
    while more := [name for name in plain if name in shared]:
        for name in more:
            del plain[name]
        names.extend(name for name in more if can_be_pickled(name))
    for number, (name, form) in enumerate(plain.items()):
        if not save_plain(name, session[name], form, number) and can_be_pickled(name):
            names.append(name)
    save_pickle(sorted(names))


def note_copies():
    kept = {variable["name"] for variable in saved}
    first = {}
    for name, value in arrays().items():
        if name not in kept:
            continue
        of = first.setdefault(id(root_of(value)), name)
        if value is not session[of] and not (stays_part(value) and stays_part(session[of])):
            copies.append({"name": name, "of": of})


def save_surroundings():
    start = getattr(shell, "_checkstone_start", None)
    if start is not None:
        given = getattr(shell, "_checkstone_given", {})
        changed = {n: v for n, v in os.environ.items() if start["environment"].get(n) != v}
        changed = {n: v for n, v in changed.items() if n not in given or given[n][0] != v}
        removed = [n for n in start["environment"] if n not in os.environ]
        if changed or removed:
            surroundings.append("environment")
            values["environment"] = {"set": changed, "removed": removed}
        added = [n for n in sys.path if n not in start["path"]]
        if added:
            first = next((p for p, n in enumerate(sys.path) if n in start["path"]), len(sys.path))
            front = sys.path[:first]
            surroundings.append("path")
            values["path"] = {"front": front, "back": [n for n in added if n not in front]}
    # `import a.b` binds `a`, and `a.b` has to be there again as well.
    packages = {module["module"].partition(".")[0] for module in modules}
    submodules = sorted(n for n in sys.modules if "." in n and n.partition(".")[0] in packages)
    if submodules:
        surroundings.append("submodules")
        values["submodules"] = submodules


# What numpy has where nobody changed it.
PRINTING = {"edgeitems": 3, "threshold": 1000, "precision": 8, "suppress": False, "linewidth": 75, "nanstr": "nan"}
PRINTING |= {"infstr": "inf", "sign": "-", "floatmode": "maxprec", "formatter": None}
ERRORS = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}


def changed(now, default):
    return {name: value for name, value in now.items() if name in default and value != default[name]}


def changed_settings():
    """What cells set in the libraries that nearly every notebook sets something in."""
    numpy, pandas, matplotlib = (sys.modules.get(name) for name in ("numpy", "pandas", "matplotlib"))
    if numpy:
        yield "numpy-printing", changed(numpy.get_printoptions(), PRINTING)
        yield "numpy-errors", changed(numpy.geterr(), ERRORS)
    if pandas:
        registered = pandas._config.config._registered_options
        now = {name: pandas.get_option(name) for name in registered}
        yield "pandas", changed(now, {name: option.defval for name, option in registered.items()})
    if matplotlib:
        # As they are: to ask for the backend would choose one.
        now, default = (dict(dict.items(each)) for each in (matplotlib.rcParams, matplotlib.rcParamsDefault))
        default = {name: value for name, value in default.items() if "backend" not in name and name != "interactive"}
        yield "matplotlib", changed(now, default)


def save_settings():
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for library, settings in changed_settings():
                if settings:
                    found[library] = settings
            target = io.BytesIO()
            Pickler(target).dump(found)
            Unpickler(io.BytesIO(target.getvalue())).load()
        except Exception as error:
            unsaved.append({"name": "settings of libraries", "type": "", "why": f"{type(error).__name__}: {error}"[:500]})
            return []
    if found:
        with open(os.path.join(FOLDER, "settings.pickle"), "wb") as file:
            file.write(target.getvalue())
    return sorted(found)


def save_generators():
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


# Before anything is saved, which may draw from them.
save_generators()
save_all()
note_copies()
save_surroundings()
settings = save_settings()
unsaved.sort(key=lambda variable: variable["name"])
write("values.json", values)
write(
    "index.json",
    {
        "version": 2,
        "saved": sorted(saved, key=lambda variable: variable["name"]),
        "modules": modules,
        "unsaved": unsaved,
        "copies": copies,
        "generators": generators,
        "surroundings": surroundings,
        "settings": settings,
    },
)
