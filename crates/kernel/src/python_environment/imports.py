# The modules that the session knows by a name, in RESULT, by that name.
import sys
import types

RESULT = {
    name: value.__name__
    for name, value in sorted(get_ipython().user_ns.items(), key=lambda item: item[0])
    if isinstance(value, types.ModuleType) and not name.startswith("_") and sys.modules.get(value.__name__) is value
}
