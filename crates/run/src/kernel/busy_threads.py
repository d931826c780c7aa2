# Whether a thread that the session started uses the processor, although no cell is running. Looked at twice, since a
# thread may just be finishing.
import threading
import time

ticks = {}
RESULT = False
for look in range(2):
    for thread in threading.enumerate():
        ours = thread is threading.main_thread() or type(thread).__module__.startswith(("ipykernel", "IPython"))
        if ours or thread.name in ("IOPub", "Heartbeat", "Control") or thread.native_id is None:
            continue
        try:
            with open(f"/proc/self/task/{thread.native_id}/schedstat") as stat:
                spent = int(stat.read().split()[0])
        except (OSError, ValueError):
            continue
        before = ticks.get(thread.native_id)
        ticks[thread.native_id] = spent
        RESULT = RESULT or (before is not None and spent - before > 20_000_000)
    if look == 0:
        time.sleep(0.2)
