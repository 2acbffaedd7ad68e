"""Subjects that were not trained on the task: sentence encoders with class means, language models with a prompt."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
import torch
from conftest import SAMPLES
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    OpenAIGPTConfig,
    OpenAIGPTLMHeadModel,
)

from crt.catalogue import TASKS
from crt.errors import ModelError
from crt.models import PredictOptions, load_predictor
from crt.models.zeroshot import Prompt, prompt_of
from crt.tasks import Source, load_split, load_training
from crt.tracking.history import read_stored

TASK = TASKS["chnsenticorp"]
OPTIONS = PredictOptions(max_length=64)
INPUTS = [("房间很干净",), ("书太差了，很失望",), ("好",), ("屏幕有坏点{0}",)]


@pytest.fixture(scope="module")
def encoder(tiny_checkpoint):
    """A tiny encoder; its classification head is not looked at."""
    return tiny_checkpoint


def test_embedding(encoder, accelerator):
    """The nearest mean of the training examples decides; the means are those of unit vectors."""
    predictor = load_predictor(f"embedding:{encoder}", TASK, accelerator, OPTIONS, Source(SAMPLES))
    prediction = predictor.predict(INPUTS)
    assert prediction.probabilities.sum(axis=1) == pytest.approx(1, abs=1e-5)
    train, _ = load_training(TASK, Source(SAMPLES))
    vectors = predictor.embed(predictor._encode([e.input for e in train.examples]))
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    gold = np.array([e.label for e in train.examples])
    means = np.stack([vectors[gold == k].mean(axis=0) for k in (0, 1)])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    nearest = (predictor.embed(predictor._encode(INPUTS)) @ means.T).argmax(axis=1)
    assert prediction.probabilities.argmax(axis=1).tolist() == nearest.tolist()
    assert predictor.name.startswith("embedding:")
    assert len(predictor.fingerprint) == 16
    assert predictor.predict([]).probabilities.shape == (0, 2)


def test_embedding_does_not_depend_on_the_batch(encoder, accelerator):
    """One input alone gets the same probabilities, to the last bit."""
    predictor = load_predictor(f"embedding:{encoder}", TASK, accelerator, OPTIONS, Source(SAMPLES))
    assert (predictor.predict(INPUTS).probabilities[1] == predictor.predict(INPUTS[1:2]).probabilities[0]).all()


def test_an_encoder_without_pooler_has_one_fingerprint(encoder, accelerator, tmp_path):
    """The pooler is not used: where a checkpoint has none, its random weights have no part in the fingerprint."""
    import shutil

    from safetensors.torch import load_file, save_file

    copy = shutil.copytree(encoder, tmp_path / "copy")
    # clones: what is loaded may still lie in the file that is written over
    weights = {k: v.clone() for k, v in load_file(copy / "model.safetensors").items() if "pooler" not in k}
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    found = {
        load_predictor(f"embedding:{copy}", TASK, accelerator, OPTIONS, Source(SAMPLES)).fingerprint for _ in range(2)
    }
    assert len(found) == 1
    weights = {k: v for k, v in weights.items() if "layer.0.output" not in k}
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match="is no encoder"):
        load_predictor(f"embedding:{copy}", TASK, accelerator, OPTIONS, Source(SAMPLES))


def test_embedding_needs_an_example_of_each_class(encoder, accelerator):
    """A class without a training example has no mean."""
    predictor = load_predictor(f"embedding:{encoder}", TASK, accelerator, OPTIONS, Source(SAMPLES))
    with pytest.raises(ModelError, match="none of the 1 training examples is 'positive'"):
        predictor.fit([("坏",)], [0])


def test_label_words_must_differ(language_model, accelerator):
    """A tokenizer that takes all label words for unknown would give each of them the same likelihood."""
    with pytest.raises(ModelError, match="does not tell the label words 故事, 文化"):
        load_predictor(f"zeroshot:{language_model}", TASKS["tnews"], accelerator, OPTIONS)


@pytest.mark.filterwarnings("error::FutureWarning")
def test_zeroshot_gives_the_likelihood_of_each_word(language_model, accelerator):
    """Equal to the plain way: prompt and word read together, one label after the other."""
    predictor = load_predictor(f"zeroshot:{language_model}", TASK, accelerator, OPTIONS)
    found = predictor.predict(INPUTS).probabilities
    model = AutoModelForCausalLM.from_pretrained(language_model).eval()
    for row, value in enumerate(INPUTS):
        prompt = predictor.start + predictor._ids(predictor.prompt.of(value))
        scores = []
        for word in predictor.words:
            with torch.inference_mode():
                logits = model(torch.tensor([prompt + word])).logits[0].log_softmax(-1)
            scores.append(sum(logits[len(prompt) + k - 1, token] for k, token in enumerate(word)))
        assert found[row] == pytest.approx(torch.stack(scores).softmax(-1).numpy(), abs=1e-5)
    assert len({tuple(row) for row in found.tolist()}) == len(INPUTS)


def test_a_model_without_memory(tmp_path, language_model, accelerator):
    """One that keeps nothing of what it has read is refused when it is loaded, not in the middle of a grid."""
    tokenizer = AutoTokenizer.from_pretrained(language_model)
    shape = {"vocab_size": len(tokenizer), "n_positions": 512, "n_embd": 32, "n_layer": 1, "n_head": 2}
    OpenAIGPTLMHeadModel(OpenAIGPTConfig(**shape)).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="OpenAIGPTLMHeadModel does not keep what it has read"):
        load_predictor(f"zeroshot:{tmp_path}", TASK, accelerator, OPTIONS)


def test_zeroshot_does_not_depend_on_the_batch(language_model, accelerator):
    """One input alone gets the same probabilities, to the last bit."""
    predictor = load_predictor(f"zeroshot:{language_model}", TASK, accelerator, OPTIONS)
    assert (predictor.predict(INPUTS).probabilities[1] == predictor.predict(INPUTS[1:2]).probabilities[0]).all()


def test_zeroshot_cuts_the_text_and_not_the_prompt(language_model, accelerator):
    """A long text is cut and marked; the question after it is still asked."""
    predictor = load_predictor(f"zeroshot:{language_model}", TASK, accelerator, PredictOptions(max_length=16))
    prediction = predictor.predict([("好" * 100,), ("好",)])
    assert prediction.truncated.tolist() == [True, False]
    assert prediction.tokens.tolist() == [16, 1]


def test_the_label_word_follows_the_prompt(language_model, accelerator):
    """What a tokenizer puts before a text is kept, what it puts behind (here [SEP]) is not: the answer comes there."""
    predictor = load_predictor(f"zeroshot:{language_model}", TASK, accelerator, OPTIONS)
    marks = predictor.tokenizer
    assert predictor.start == [marks.cls_token_id]
    assert marks.sep_token_id not in predictor._ids("好")


def test_a_prompt_that_is_too_long(language_model, accelerator):
    """A prompt beyond the positions of the model is refused, not cut."""
    predictor = load_predictor(f"zeroshot:{language_model}", TASK, accelerator, PredictOptions(max_length=512))
    with pytest.raises(ModelError, match=r"reads 512 tokens, a prompt has \d+; give a smaller max_length"):
        predictor.predict([("好" * 600,)])


def test_prompts():
    """Every task has a prompt with a word for each label; a text never fills in a field."""
    for name in ("chnsenticorp", "sample", "tnews", "ocnli"):
        prompt = prompt_of(TASKS[name])
        assert len(prompt.words) == len(set(prompt.words)) == len(TASKS[name].labels)
        assert all(f"{{{k}}}" in prompt.template for k in range(len(TASKS[name].fields)))
    assert Prompt("{0}和{1}", ()).of(("{1}", "{0}")) == "{1}和{0}"


def serve(answer):
    """Start a completions server on this machine; `answer` gives the choice for a request, or None for an error 400."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            choice = answer(request)
            self.send_response(200 if choice else 400)
            self.end_headers()
            self.wfile.write(json.dumps({"choices": [choice]} if choice else {"error": "no"}).encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"zeroshot:http://127.0.0.1:{server.server_port}/v1#m"


def test_a_server_that_gives_likelihoods(accelerator):
    """The likelihoods of the label words after the prompt are normalised; those of the prompt do not count."""

    def answer(request):
        text = request["prompt"]
        scores = [None, *(-1.0 for _ in text[1:-2]), -0.5, -0.5 if text.endswith("正面") else -2.5]
        return {"text": text, "logprobs": {"text_offset": list(range(len(text))), "token_logprobs": scores}}

    server, spec = serve(answer)
    predictor = load_predictor(spec, TASK, accelerator, OPTIONS)
    assert predictor.settings == {"server": "likelihoods"}
    expected = np.array([np.exp(-3), np.exp(-1)])
    assert predictor.predict(INPUTS).probabilities[0] == pytest.approx(expected / expected.sum(), abs=1e-6)
    server.shutdown()


def test_a_token_across_the_end_of_the_prompt_is_no_answer(accelerator):
    """Where a server's tokens do not begin with the label word its likelihood is not known: no label, not certainty."""

    def answer(request):
        text = request["prompt"]
        starts = [0, len(text) - 3] if text.endswith("正面") else [0, len(text) - 2]
        return {"text": text, "logprobs": {"text_offset": starts, "token_logprobs": [None, -0.5]}}

    server, spec = serve(answer)
    predictor = load_predictor(spec, TASK, accelerator, OPTIONS)
    assert np.isnan(predictor.predict(INPUTS).probabilities).all()
    server.shutdown()


def test_a_server_that_only_answers(accelerator):
    """An answer counts if it begins with exactly one label word; any other is no answer, and never a label."""

    def answer(request):
        if request.get("echo"):
            return None
        return {
            "text": " 正面。" if "干净" in request["prompt"] else "负面" if "失望" in request["prompt"] else "这是正面"
        }

    server, spec = serve(answer)
    predictor = load_predictor(spec, TASK, accelerator, OPTIONS)
    prediction = predictor.predict(INPUTS)
    assert prediction.probabilities[:2].tolist() == [[0, 1], [1, 0]]
    assert prediction.failed.tolist() == [False, False, True, True]
    server.shutdown()


def test_bad_servers(accelerator):
    """A server out of reach, one that refuses, and a spec without a model are errors that say so."""
    with pytest.raises(ModelError, match="cannot be reached"):
        load_predictor("zeroshot:http://127.0.0.1:9/v1#m", TASK, accelerator, OPTIONS)
    with pytest.raises(ModelError, match="names no model"):
        load_predictor("zeroshot:http://127.0.0.1:9/v1", TASK, accelerator, OPTIONS)
    server, spec = serve(lambda _: None)
    predictor = load_predictor(spec, TASK, accelerator, OPTIONS)
    with pytest.raises(ModelError, match="answers 400"):
        predictor.predict(INPUTS)
    server.shutdown()


def test_subjects_run_a_grid(invoke, language_model, encoder):
    """Both are subjects of `evaluate` like any other, in one table."""
    models = f"embedding:{encoder},zeroshot:{language_model}"
    invoke(
        "evaluate", "--dataset", "chnsenticorp", "--model", models, "--data_dir", SAMPLES, "--perturbations", "space",
        "--prob", 0.3, "--seed", 13, "--no_figures",
    )  # fmt: skip
    shown = invoke("compare", "--no_figures").stdout
    assert "embedding:" in shown
    assert "zeroshot:tiny-lm" in shown


def test_the_password_of_a_server_is_not_stored(invoke, tmp_path):
    """Neither the store nor the page holds it, and the model is the same one with another password."""
    server, spec = serve(lambda request: None if request.get("echo") else {"text": "正面"})
    grid = ("--dataset", "chnsenticorp", "--data_dir", SAMPLES, "--perturbations", "space", "--prob", 0.3, "--seed", 13)
    for password in ("s3cret", "t0psecret"):
        address = spec.replace("://", f"://user:{password}@")
        invoke("evaluate", *grid, "--model", address, "--max_samples", 5, "--no_figures")
    server.shutdown()
    shown = invoke("compare", "--no_figures").output
    assert "zeroshot:m" in shown
    assert len(read_stored((), ()).cells) == 2
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(b"user:***@127.0.0.1" in path.read_bytes() for path in files)
    assert not [path for path in files if b"s3cret" in path.read_bytes() or b"t0psecret" in path.read_bytes()]


def test_a_failed_answer_stops_a_grid(accelerator):
    """A grid counts no input whose answer is missing: it is refused with the input."""
    from crt.studies.answers import Answers

    server, spec = serve(lambda request: None if request.get("echo") else {"text": "?"})
    predictor = load_predictor(spec, TASK, accelerator, OPTIONS)
    inputs = [e.input for e in load_split(TASK, "test", Source(SAMPLES)).examples]
    with pytest.raises(ModelError, match="gives no answer"):
        Answers(predictor, inputs)
    server.shutdown()
