# Run once in a fresh kernel, with a namespace of its own, and FOLDER for files that are shared with checkstone.
#
# A stream sends what is printed a little later, from another thread; a crash, or native code that keeps Python's lock and
# has to be killed, would take it along. So the end of what was printed also lies in a mapped file, which outlives the
# process. Pictures and tables lie in files of their own until they have arrived, when checkstone removes them. And large
# texts are sent in pieces, so that nobody has to hold one in memory. Where native code crashes, Python says where.
import asyncio
import faulthandler
import itertools
import json
import mmap
import os
import struct
import sys
import threading

PIECE = 1 << 20
RING = 1 << 18
HEAD = struct.Struct("<QQ")
DISPLAYS = ("display_data", "execute_result", "update_display_data")


class Ring:
    def __init__(self, name):
        file = os.open(os.path.join(FOLDER, name + ".ring"), os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(file, HEAD.size + RING)
        self.memory = mmap.mmap(file, HEAD.size + RING)
        os.close(file)
        self.lock = threading.RLock()

    def add(self, text):
        data = text.encode("utf-8", "replace")
        with self.lock:
            length, characters = HEAD.unpack_from(self.memory)
            tail = data[-RING:]
            at = (length + len(data) - len(tail)) % RING
            first = tail[: RING - at]
            self.memory[HEAD.size + at : HEAD.size + at + len(first)] = first
            rest = tail[len(first) :]
            self.memory[HEAD.size : HEAD.size + len(rest)] = rest
            HEAD.pack_into(self.memory, 0, length + len(data), characters + len(text))

    def characters(self):
        with self.lock:
            return HEAD.unpack_from(self.memory)[1]


RINGS = {name: Ring(name) for name in ("stdout", "stderr")}


def remember(kind):
    original = kind.write

    def write(stream, text):
        ring = RINGS.get(stream.name)
        if ring is None or not isinstance(text, str):
            return original(stream, text)
        ring.add(text)
        if len(text) <= PIECE:
            return original(stream, text)
        for begin in range(0, len(text), PIECE):
            original(stream, text[begin : begin + PIECE])
            stream.flush()
        return len(text)

    kind.write = write
    for stream in (sys.stdout, sys.stderr):
        vars(stream).pop("write", None)


def remember_displays(session):
    original = session.send
    numbers = itertools.count()

    def send(stream, message, *arguments, **given):
        kind = message.get("msg_type") if isinstance(message, dict) else None
        # A forked process sends nothing of its own.
        if kind in DISPLAYS and os.getpid() == session.pid:
            # How much was printed before it, so that text that is lost with it finds its place.
            printed = {name: ring.characters() for name, ring in RINGS.items()}
            content = {"number": next(numbers), "printed": printed, "type": kind, "content": message.get("content")}
            try:
                with open(os.path.join(FOLDER, message["header"]["msg_id"] + ".display"), "w") as file:
                    json.dump(content, file, default=str)
            except (OSError, LookupError, TypeError, ValueError):
                pass
        return original(stream, message, *arguments, **given)

    session.send = send


# What cells change of these is saved with the session.
get_ipython()._checkstone_start = {"environment": dict(os.environ), "path": list(sys.path)}

# Python keeps the file open for as long as it needs it.
faulthandler.enable(open(os.path.join(FOLDER, "crash"), "w"), all_threads=False)

if type(sys.stdout).__module__ == "ipykernel.iostream":
    remember_displays(get_ipython().display_pub.session)
    # IPython replaces the streams' own method while a cell runs, this one too, and puts it back afterwards.
    asyncio.get_event_loop().call_soon(remember, type(sys.stdout))
