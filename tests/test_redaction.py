"""crt.redaction: no secret is stored or shown, all else is, and an address still works."""

import json
import logging
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from conftest import ROOT, SAMPLES
from hypothesis import given
from hypothesis import strategies as st
from strategies import PROPERTY

from crt.door import Record, ui_command
from crt.redaction import SECRETS, printable, redacted, secrets_of, split_login
from crt.tracking.runs import open_run


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("zeroshot:https://user:pa:ss@host/v1#M", "zeroshot:https://user:***@host/v1#M"),
        ("postgresql+psycopg2://u:p@h/d and http://:q@h", "postgresql+psycopg2://u:***@h/d and http://:***@h"),
        ("http://u:p@ss@host/v1", "http://u:***@host/v1"),
        ("见http://u:p@host", "见http://u:***@host"),
        ("zeroshot:http://TOKEN@host/v1#M", "zeroshot:http://***@host/v1#M"),
        ("http://TOKEN:@host", "http://***@host"),
        ("https://TOKEN:x-oauth-basic@host/a.git", "https://***@host/a.git"),
        ("http://user:p/a#ss@host/v1#M", "http://user:***@host/v1#M"),
        ("http://user:p?a/ss@host", "http://user:***@host"),
        ("postgresql://u:5000/x@h/d", "postgresql://u:***@h/d"),
        ("http://u:p@[::1]:80/a@b", "http://u:***@[::1]:80/a@b"),
        ("zeroshot:http://h:8000#Q,zeroshot:http://T@h#x", "zeroshot:http://h:8000#Q,zeroshot:http://***@h#x"),
        ("http://h/v1?api_key=S3#M", "http://h/v1?api_key=***#M"),
        ("http://h/v1?a=1&key=S3&b=2", "http://h/v1?a=1&key=***&b=2"),
        ("(url: /v1?X-Amz-Signature=S,3)", "(url: /v1?X-Amz-Signature=***)"),
        ("'sqlite:///x.db?password=S'", "'sqlite:///x.db?password=***'"),
        ("http://h?client_secret=S http://h?apikey=S http://h?Authorization=S", "http://h?client_secret=*** http://h?apikey=*** http://h?Authorization=***"),
        # no secrets
        ("http://host:5000/a@b", "http://host:5000/a@b"),
        ("zeroshot:http://host:8000#Qwen@v2", "zeroshot:http://host:8000#Qwen@v2"),
        ("http://[::1]:8000/a@b", "http://[::1]:8000/a@b"),
        ("wasbs://container@account/x and ssh://git@host/x", "wasbs://container@account/x and ssh://git@host/x"),
        ("http://h/v1?max_tokens=3&seed=1#key", "http://h/v1?max_tokens=3&seed=1#key"),
        ("models:/crt-tnews@best", "models:/crt-tnews@best"),
        ("see http://h:80 or a@b", "see http://h:80 or a@b"),
    ],
)  # fmt: skip
def test_a_secret_is_hidden(text, shown):
    """Wherever an address stands in a text, its login and its keys are hidden, and nothing else; once more changes nothing."""
    assert redacted(text) == shown
    assert redacted(shown) == shown


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_of_the_environment_is_hidden(monkeypatch, name):
    """Its value is hidden wherever it stands, also as an address spells it; one that stands in many words is not."""
    monkeypatch.setenv(name, "hush/hush")
    assert redacted("x hush/hush, Bearer hush%2Fhush!") == "x ***, Bearer ***!"
    monkeypatch.setenv(name, "the")
    assert redacted("the other") == "the other"
    assert redacted("the other", "other") == "the ***"


@pytest.mark.parametrize(
    ("address", "bare", "login"),
    [
        ("http://h:80/v1?a@b", "http://h:80/v1?a@b", None),
        ("http://u:p@h/v1#m", "http://h/v1#m", ("u", "p")),
        ("http://u:p/a#s%40s@h/v1", "http://h/v1", ("u", "p/a#s@s")),
        ("http://TOKEN@h/v1", "http://h/v1", ("TOKEN", "")),
    ],
)
def test_an_address_and_its_login(address, bare, login):
    """What is hidden is what is sent."""
    assert split_login(address) == (bare, login)


def test_what_is_secret_in_an_address():
    """Login and keys, but nothing that stands in many words."""
    assert secrets_of("http://u:hushhush@h/v1?api_key=silence&a=1") == ("hushhush", "silence")
    assert secrets_of("http://h/v1?a=1") == ()


@PROPERTY
@given(st.text())
def test_what_a_terminal_gets(text):
    """No control, no half of a pair, nothing that turns the line; plain texts stay as they are."""
    shown = printable(text)
    assert all(char in "\n\t" or char.isprintable() or char not in "\x1b\x9b\r\x08\u202e" for char in shown)
    assert printable(shown) == shown
    shown.encode("utf-8")
    if text.isprintable():
        assert shown == text


def test_escapes_are_shown():
    """A name that would colour the terminal, or turn the line around, is spelled out; a joined emoji stays."""
    assert printable("\x1b[31mred\r\x9b \u202e \ud800 👨‍👩‍👧\n") == "\\x1b[31mred\\x0d\\x9b \\u202e \\ud800 👨‍👩‍👧\n"


# real commands


LOGIN, KEY, PASSWORD = "tok3n-of-the-server", "k3y-of-the-server", "p4ssword-of-the-store"
VALUES = {name: f"s3cret-{name.lower()}" for name in SECRETS}


@pytest.fixture
def server():
    """A completions server that wants the login and the key, notes what it gets, and says both when it refuses."""
    met = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            met.append((self.path, self.headers["Authorization"]))
            wrong = request["model"] == "wrong"
            self.send_response(403 if wrong else 400 if request.get("echo") else 200)
            self.end_headers()
            said = {"error": f"{self.path} {LOGIN}"} if wrong else {"choices": [{"text": "正面"}]}
            self.wfile.write(json.dumps(said).encode())

        def log_message(self, *_):
            pass

    found = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=found.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{found.server_port}/v1?api_key={KEY}", met
    found.shutdown()


def stored(folder):
    """Return all that a folder holds, names and contents, and of a database every row."""
    parts = []
    for path in folder.rglob("*"):
        parts.append(path.name)
        if path.suffix == ".db":
            with closing(sqlite3.connect(path)) as database:
                names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
                parts += [str(row) for name in names for row in database.execute(f'SELECT * FROM "{name}"')]
        elif path.is_file():
            parts.append(path.read_bytes().decode("utf-8", "replace"))
    return "\n".join(parts)


def test_no_secret_is_stored_or_shown(command, server, store, tmp_path):
    """A login, a key and the secrets of the environment stand in no table, artifact, file or message of real commands."""
    place, met = server
    model = f"zeroshot:http://{LOGIN}@{place}#m"
    environment = {**VALUES, "MLFLOW_TRACKING_URI": f"{store}?password={PASSWORD}"}
    data = ("--data_dir", SAMPLES, "--no_figures", "--output_dir", tmp_path / "out")
    asked = ("--dataset", "chnsenticorp", "--perturbations", "space", "--prob", 0.3, "--seed", 13, "--max_samples", 4)
    said = [
        command("evaluate", *asked, "--model", model, *data, **environment),
        command("evaluate", *asked, "--model", model.replace("#m", "#wrong"), *data, check=False, **environment),
        command("behaviour", "--dataset", "sample", "--model", model, *data, **environment),
        command("compare", "--no_figures", "--output_dir", tmp_path / "out", **environment),
        command("train", "--dataset", "sample", "--model", f"http://{LOGIN}@127.0.0.1:9", check=False, **environment),
    ]
    assert [result.returncode for result in said] == [0, 1, 0, 0, 1]
    assert {path for path, _ in met} == {f"/v1/completions?api_key={KEY}"}
    assert {login.partition(" ")[0] for _, login in met} == {"Basic"}
    everything = "\n".join([stored(tmp_path), *(result.stdout + result.stderr for result in said)])
    assert "answers 403" in everything
    assert "zeroshot:http://***@127.0.0.1" in everything
    assert "/v1?api_key=***" in everything
    for secret in (LOGIN, KEY, PASSWORD, *VALUES.values()):
        assert secret not in everything


def test_a_repository_with_a_token(store, monkeypatch, caplog):
    """What MLflow knows of the process is stored without its secrets; of a param that it stored before, the user is told."""
    import mlflow

    remote = {"mlflow.source.git.repoURL": "https://TOKEN@host/a.git"}
    monkeypatch.setattr("crt.tracking.runs.resolve_tags", lambda: remote)
    with open_run("grid", "test", {}) as tracker, tracker.child("x", "http://TOKEN@host", {}) as child:
        child.log_tags({"note": "http://TOKEN@host"})
    for run_id in (tracker.run_id, child.run_id):
        assert mlflow.get_run(run_id).data.tags["mlflow.source.git.repoURL"] == "https://***@host/a.git"
    run = mlflow.MlflowClient().create_run("0", tags=remote)
    mlflow.MlflowClient().log_param(run.info.run_id, "model", "http://TOKEN@host")
    monkeypatch.setenv("MLFLOW_RUN_ID", run.info.run_id)
    with open_run("grid", "test", {}):
        pass
    assert mlflow.get_run(run.info.run_id).data.tags["mlflow.source.git.repoURL"] == "https://***@host/a.git"
    assert "mlflow run stored the secret in the param model" in caplog.text
    assert "TOKEN" not in stored(Path.cwd()).replace("http://TOKEN@host", "", 1)


@pytest.mark.parametrize(
    "uri", ["http://user:hush@host:5000", "sqlite:////x.db?password=hush", "postgresql://u:hush@h/d"]
)
def test_how_the_ui_is_opened(uri):
    """The command, or the address, never shows the password of the store."""
    tracker = type("Tracker", (), {"client": type("Client", (), {"tracking_uri": uri})})
    assert "hush" not in ui_command(tracker)


DOOR = """
import logging, click
from crt.door import door, say

@click.command()
@door
def main():
    say("out \\x1b[31mred http://TOKEN@h")
    logging.getLogger("crt").info("ours %s", "\\x1b[31m http://TOKEN@h")
    logging.getLogger("urllib3").warning("theirs \\x9b31m /v1?api_key=TOKEN")
    raise ValueError("bug \\x1b]0; http://TOKEN@h")

main()
"""


def test_what_a_command_prints():
    """Texts, messages of all loggers and the traceback of a bug come without secrets, and a terminal obeys none of them."""
    run = subprocess.run([sys.executable, "-c", DOOR], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    said = run.stdout + run.stderr
    assert "out \\x1b[31mred http://***@h" in run.stdout
    assert "ours \\x1b[31m http://***@h" in run.stderr
    assert "theirs \\x9b31m /v1?api_key=***" in run.stderr
    assert "ValueError: bug \\x1b]0; http://***@h" in run.stderr
    assert not set(said) & set("\x1b\x9b")
    assert "TOKEN@h" not in run.stdout


def test_a_placeholder_is_no_secret(monkeypatch):
    """Servers that want no key get one all the same: a short word hides nothing; white space around a key is no part of it."""
    monkeypatch.setenv("OPENAI_API_KEY", "ollama")
    assert redacted("zeroshot:http://ollama:11434/v1#qwen") == "zeroshot:http://ollama:11434/v1#qwen"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789\n")
    assert redacted("the key sk-0123456789 is wrong") == "the key *** is wrong"


def test_the_traceback_of_a_logged_error_hides_secrets():
    """Libraries log errors with their traceback: what that quotes is hidden, too."""
    try:
        raise ValueError("http://user:secretpw@host/x")
    except ValueError:
        record = Record("mlflow", logging.WARNING, __file__, 1, "bad", (), sys.exc_info())
    text = logging.Formatter("%(message)s").format(record)
    assert "ValueError" in text
    assert "secretpw" not in text
