# Run apart before each stage: gives it its folder, FOLDER, and its environment variables, GIVEN. Those of the stage before
# go, unless a cell has set them since; what a cell or ipykernel has set stays. INHERITED has what the variables were when
# the kernel was started, which has those of its first stage from the start.
import json
import os

shell = get_ipython()
for name, (given, before) in getattr(shell, "_checkstone_given", {}).items():
    if os.environ.get(name) != given:
        continue
    if before is None:
        del os.environ[name]
    else:
        os.environ[name] = before
given, inherited = json.loads(GIVEN), json.loads(INHERITED)
is_first = not hasattr(shell, "_checkstone_given")
if is_first:
    for name in given:
        shell._checkstone_start["environment"].pop(name, None)
        if name in inherited:
            shell._checkstone_start["environment"][name] = inherited[name]
shell._checkstone_given = {
    name: (value, inherited.get(name) if is_first else os.environ.get(name)) for name, value in given.items()
}
os.environ.update(given)
os.chdir(FOLDER)
