"""MANIFEST.json: the SHA-256 of every shipped resource, and what the built ones were built from and with.

Run by itself (make manifest) it renews the digests, which is all that changes with a file that is written by hand. That
takes neither a network nor a package.
"""

import json
from collections.abc import Collection
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from sources import COW, PACKAGES

RESOURCES = Path(__file__).parent.parent
MANIFEST = RESOURCES / "MANIFEST.json"

TOOLS = {"shape": ("numpy", "pillow", "rapidfuzz")}
"""Distributions whose version a table may depend on, by its name."""


def files() -> dict[str, str]:
    """Return the digest of each resource."""
    paths = [RESOURCES / name for name in ("polarity.json", "prompts.json", "readings.json")]
    for folder in ("perturbations", "rules", "samples", "suites"):
        paths += (RESOURCES / folder).rglob("*")
    found = {path.relative_to(RESOURCES).as_posix(): path for path in paths if path.is_file()}
    return {name: sha256(path.read_bytes()).hexdigest() for name, path in sorted(found.items())}


def inputs() -> dict[str, str]:
    """Return the digest of each input of the builders."""
    packages = {f"{name}=={number}": digest for name, (number, digest) in sorted(PACKAGES.items())}
    return packages | {COW[0]: COW[1]}


def write(built: Collection[str] = (), *, everything: bool = False) -> None:
    """Renew the digests of the files, and nothing that is not known to have changed with them.

    Args:
        built: the tables that were built just now, by name: their tools are those that are installed.
        everything: all of them were, so that all inputs are those of the builders.
    """
    manifest = json.loads(MANIFEST.read_text(encoding="utf-8")) | {"files": files()}
    if everything:
        manifest["inputs"] = inputs()
    manifest["tools"] |= {tool: version(tool) for name in built for tool in TOOLS.get(name, ())}
    MANIFEST.write_text(json.dumps(manifest, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
