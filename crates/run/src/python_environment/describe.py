# What this interpreter is and has installed, in RESULT.
import importlib.metadata
import platform
import sys

packages = {}
for distribution in importlib.metadata.distributions():
    name = distribution.metadata["Name"]
    # The first one found is the one that is imported.
    if name:
        packages.setdefault(name, distribution.version)
RESULT = {
    "python": sys.executable,
    "version": platform.python_version(),
    "platform": sys.platform,
    "packages": sorted(f"{name}=={version}" for name, version in packages.items()),
}
