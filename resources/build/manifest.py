"""Write resources/MANIFEST.json: the SHA-256 of every shipped resource. Run it after a change: make resources."""

import json
from hashlib import sha256
from pathlib import Path

RESOURCES = Path(__file__).parent.parent
FOLDERS = ("perturbations", "rules", "samples")


def manifest() -> str:
    """Return the text of the manifest."""
    files = sorted(file for folder in FOLDERS for file in (RESOURCES / folder).rglob("*") if file.is_file())
    digests = {file.relative_to(RESOURCES).as_posix(): sha256(file.read_bytes()).hexdigest() for file in files}
    return json.dumps({"files": digests}, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    (RESOURCES / "MANIFEST.json").write_text(manifest(), encoding="utf-8")
