"""MANIFEST.json: the SHA-256 of every shipped resource, and what the built ones were built from and with."""

import json
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from sources import COW, PACKAGES

RESOURCES = Path(__file__).parent.parent
TOOLS = ("numpy", "pillow", "rapidfuzz")


def files() -> dict[str, str]:
    """Return the digest of each resource."""
    paths = [RESOURCES / "readings.json", RESOURCES / "prompts.json"]
    for folder in ("perturbations", "rules", "samples", "suites"):
        paths += (RESOURCES / folder).rglob("*")
    return {
        path.relative_to(RESOURCES).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in sorted(paths)
        if path.is_file()
    }


def build() -> str:
    """Return the text of the manifest."""
    inputs = {f"{name}=={number}": digest for name, (number, digest) in sorted(PACKAGES.items())}
    manifest = {
        "files": dict(sorted(files().items())),
        "inputs": inputs | {COW[0]: COW[1]},
        "tools": {name: version(name) for name in TOOLS},
    }
    return json.dumps(manifest, ensure_ascii=False, indent=1) + "\n"
