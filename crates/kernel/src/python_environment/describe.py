# What this interpreter is and has installed, in RESULT.
import importlib.metadata
import platform
import re
import sys

# Of a package's description only the head is looked at: to parse all of it, as the library does, takes ten times as long.
HEADER = re.compile(r"^(Name|Version):[ \t]*(.*?)[ \t]*$", re.MULTILINE)
packages = {}
for distribution in importlib.metadata.distributions():
    try:
        text = next(filter(None, map(distribution.read_text, ("METADATA", "PKG-INFO", ""))), "")
    except (OSError, ValueError):
        continue
    head = dict(HEADER.findall(text.partition("\n\n")[0]))
    # The first one found is the one that is imported.
    if head.get("Name"):
        packages.setdefault(head["Name"], head.get("Version", ""))
RESULT = {
    "python": sys.executable,
    "version": platform.python_version(),
    "platform": sys.platform,
    "packages": sorted(f"{name}=={version}" for name, version in packages.items()),
}
