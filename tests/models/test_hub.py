"""A hub on this machine: most Chinese models have pickled weights only, and no address but the hub's is asked."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import torch
from conftest import ROOT
from safetensors.torch import load_file

MODEL, ADAPTER = "hfl/chinese-roberta-wwm-ext", "hfl/an-adapter"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
LOAD = f"""
import threading
from crt.errors import ModelError
from crt.models.checkpoint import load_model, load_tokenizer
from crt.models.processes import start
start("fp32")
tokenizer = load_tokenizer("{MODEL}", 64)
model, missing = load_model("{MODEL}")
print(len(tokenizer), missing, model.classifier.bias.tolist()[:1])
print([thread.name for thread in threading.enumerate() if "conversion" in thread.name])
try:
    load_model("{ADAPTER}")
except ModelError as error:
    print(error)
"""


@pytest.fixture
def hub(tiny_checkpoint, tmp_path):
    """A hub with the tiny checkpoint, its weights pickled, and an adapter; yields its address and what it was asked for."""
    served, asked = tmp_path / "served", []
    folder = shutil.copytree(tiny_checkpoint, served / MODEL)
    (served / ADAPTER).mkdir()
    (served / ADAPTER / "adapter_config.json").write_text('{"peft_type": "LORA"}')
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            asked.append(self.path)
            path = self.path.partition("?")[0].strip("/")
            repository, _, file = path.removeprefix("api/models/").partition("/resolve/")
            content = b""
            if path in (f"api/models/{MODEL}", f"api/models/{ADAPTER}"):
                content = json.dumps({"id": repository, "sha": COMMIT, "siblings": []}).encode()
            elif (stored := served / repository / file.partition("/")[2]).is_file():
                content = stored.read_bytes()
            known = bool(content)
            tag = hashlib.sha256(content).hexdigest()
            self.send_response(200 if known else 404)
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("ETag" if known else "X-Error-Code", f'"{tag}"' if known else "EntryNotFound")
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        do_HEAD = do_POST = do_GET  # noqa: N815

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


def load(address, home, *, offline):
    """Load the model in a process that knows this hub alone."""
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    environment |= {
        "HF_ENDPOINT": address, "HF_HOME": str(home), "HF_HUB_OFFLINE": str(int(offline)), "PYTHONPATH": str(ROOT),
        "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_XET": "1", "NO_PROXY": "127.0.0.1",
    }  # fmt: skip
    environment.pop("HF_TOKEN", None)
    return subprocess.run(
        [sys.executable, "-c", LOAD],
        env=environment,
        cwd=home.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_hub_without_safetensors(hub, tmp_path, tiny_checkpoint):
    """The model is loaded from its pickled weights, nobody is asked to convert them, and what was loaded stays at hand."""
    address, asked = hub
    first = load(address, tmp_path / "home", offline=False)
    assert first.returncode == 0, first.stderr
    bias = load_file(tiny_checkpoint / "model.safetensors")["classifier.bias"].tolist()[:1]
    assert first.stdout.splitlines()[0].endswith(f"[] {bias}")
    assert first.stdout.splitlines()[1] == "[]"
    assert f"{ADAPTER} is an adapter (PEFT)" in first.stdout.splitlines()[2]
    assert f"/{MODEL}/resolve/main/pytorch_model.bin" in [path.replace(COMMIT, "main") for path in asked]
    assert not [path for path in asked if "discussions" in path or "commits" in path]
    asked.clear()
    again = load(address, tmp_path / "home", offline=True)
    assert (again.stdout, asked) == (first.stdout, [])
