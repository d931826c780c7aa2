# Run once in a fresh kernel, with a namespace of its own. Output is sent in pieces of bounded size, so that nobody has to
# hold a large one in memory, and what is printed after a silence is sent at once: native code that keeps Python's lock
# afterwards, and then has to be killed, would take it along.
import sys
import time

PIECE = 1 << 20
QUIET = 0.02


def in_pieces(stream):
    write, flush = stream.write, stream.flush
    last = 0.0

    def write_in_pieces(text):
        nonlocal last
        if len(text) > PIECE:
            for begin in range(0, len(text), PIECE):
                write(text[begin : begin + PIECE])
                flush()
        else:
            write(text)
        now = time.monotonic()
        if now - last > QUIET and "\n" in text:
            last = now
            flush()
        return len(text)

    stream.write = write_in_pieces


for stream in (sys.stdout, sys.stderr):
    if type(stream).__module__ == "ipykernel.iostream":
        in_pieces(stream)
