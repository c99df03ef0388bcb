"""Random cases: a built Shardlens against `transformers`, which computes each case in fp64.

    python random_cases.py --cli build/shardlens-cli [--seed 1] [--cases 100] [--kinds model,layer] [--only 17]

Every case is drawn from --seed, its kind and its number, so `--kinds KIND --only NUMBER` repeats one. A case that
disagrees leaves its files and its commands in --keep. Exits 1 when a case disagrees.

What each kind compares is said at its function. To add a kind, write a function of a Case and add it to KINDS.
"""

import argparse
import csv
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
import numpy as np
import torch
import transformers
from safetensors.torch import load_file

import hugging_face

transformers.logging.set_verbosity_error()
torch.set_num_threads(1)

# An error is measured against the tensor, or against a share of a usual tensor of its kind when the tensor itself is
# all but zero: every implementation stores rounding errors where a gradient cancels.
BOUND = 5e-11
SMALLEST_SHARE = 0.05


class Disagreement(Exception):
    pass


class Case:
    """One drawn case: its random numbers, its folder, and the commands that it ran."""

    def __init__(self, cli, seed, kind, number, folder):
        self.rng = np.random.default_rng([seed, number, sum(kind.encode())])
        self.cli, self.folder, self.commands = cli, Path(folder), []

    def pick(self, *choices):
        return choices[int(self.rng.integers(len(choices)))]

    def between(self, least, most):
        return int(self.rng.integers(least, most + 1))

    def array(self, name, values):
        np.save(self.folder / name, values)
        return self.folder / name

    def run(self, *words):
        command = [self.cli, *map(str, words)]
        self.commands.append(shlex.join(command))
        ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if ended.returncode != 0:
            raise Disagreement(f"exit code {ended.returncode}: {ended.stderr.strip()[-300:]}")
        return ended.stdout


def draw_config(case, family=None):
    """A small model of odd sizes, as the keys of a config.json."""
    family = family or case.pick("gpt2", "bert", "megatron-bert")
    heads, vocab = case.between(1, 6), case.between(2, 300)
    hidden, positions, layers = heads * case.between(2, 10), case.between(2, 30), case.between(1, 3)
    act, epsilon, tied = case.pick("gelu", "gelu_new", "gelu_pytorch_tanh"), case.pick(1e-5, 1e-12), case.pick(True, False)
    common = {"model_type": family, "vocab_size": vocab, "tie_word_embeddings": tied}
    if family == "gpt2":
        return common | {"n_embd": hidden, "n_head": heads, "n_layer": layers, "n_positions": positions, "resid_pdrop": 0.0,
                         "embd_pdrop": 0.0, "attn_pdrop": 0.0, "n_inner": case.pick(None, case.between(1, 90)),
                         "activation_function": act, "layer_norm_epsilon": epsilon, "bos_token_id": None, "eos_token_id": None}
    return common | {"hidden_size": hidden, "num_attention_heads": heads, "num_hidden_layers": layers, "hidden_act": act,
                     "max_position_embeddings": positions, "intermediate_size": case.between(1, 90), "layer_norm_eps": epsilon,
                     "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "pad_token_id": case.pick(None, 0, vocab - 1)}


def draw_model(case, config):
    """The config's model in fp64 with weights that fp32 holds exactly, saved in the case's folder `model`."""
    torch.manual_seed(case.between(0, 2**31 - 1))
    model = hugging_face.new_model(config).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.15)
            parameter.copy_(parameter.float().double())
    model.save_pretrained(case.folder / "model")
    return model


def draw_degree(case, config):
    """T, of which there may be as many as columns of the stream."""
    return ["--tp", case.between(1, min(4, config["n_embd" if config["model_type"] == "gpt2" else "hidden_size"])),
            "--heads-policy", "uneven"]


def draw_layout(case, config):
    """How the run is cut, which must not change its numbers."""
    cut = lambda: case.pick("column", "row", "replicated")
    split = {part: cut() for part in ("attn.qkv", "attn.proj", "mlp.fc", "mlp.proj")}
    split |= {"embedding": case.pick("vocab", "hidden", "replicated"), "loss": case.pick("fused", "gather"),
              "norm": case.pick("replicated", "parallel", "sequence")}
    path = case.folder / "split.json"
    path.write_text(json.dumps(split))
    return [*draw_degree(case, config), "--split", path, "--recompute", case.pick("none", "selective", "full"),
            "--overlap-chunks", case.between(1, 4)]


def draw_batch(case, config):
    """The batch, and the options that give it to `step`."""
    gpt = config["model_type"] == "gpt2"
    rows, seq = case.between(1, 4), case.between(1, config["n_positions" if gpt else "max_position_embeddings"])
    batch = {"tokens": case.rng.integers(0, config["vocab_size"], (rows, seq + 1 if gpt else seq))}
    if not gpt:
        labels = np.where(case.rng.random((rows, seq)) < 0.3, case.rng.integers(0, config["vocab_size"], (rows, seq)), -100)
        labels[0, 0] = 1
        mask = np.ones((rows, seq), int)
        mask[-1, case.between(1, seq):] = 0
        batch |= {"labels": labels, "token_types": case.rng.integers(0, 2, (rows, seq)), "attention_mask": mask,
                  "sop": case.rng.integers(0, 2, rows)}
    options = []
    for name, values in batch.items():
        options += ["--" + name.replace("_", "-"), case.array(name + ".npy", values.astype(np.int32))]
    return {name: torch.as_tensor(values) for name, values in batch.items()}, options


def compare(ours, theirs):
    """Every tensor of `theirs` is in `ours`, in its shape and within the bound, and `ours` has no other gradient."""
    gradients = [value for name, value in theirs.items() if name.startswith("grad.")]
    usual = (sum(float((g ** 2).sum()) for g in gradients) / max(1, sum(g.numel() for g in gradients))) ** 0.5
    others = {name for name in ours if name.startswith("grad.")} ^ {name for name in theirs if name.startswith("grad.")}
    if others:
        raise Disagreement(f"gradients of one side only: {sorted(others)[:4]}")
    for name, expected in theirs.items():
        if name not in ours:
            raise Disagreement(f"the dump has no {name}")
        if ours[name].shape != expected.shape:
            raise Disagreement(f"{name} has shape {tuple(ours[name].shape)}, expected {tuple(expected.shape)}")
        size = usual if name.startswith("grad.") else 1.0
        scale = max(float(expected.norm()), SMALLEST_SHARE * size * expected.numel() ** 0.5)
        error = float((ours[name] - expected).norm()) / scale
        if not error <= BOUND:
            raise Disagreement(f"{name} differs by {error:.1e}")


def results_of(model, config, batch):
    """What a dump of the same step has: loss, logits, hidden, sop_logits and grad.<name>."""
    out = hugging_face.run(model, config, batch)
    out["loss"].backward()
    found = {name: value.detach() for name, value in out.items()}
    found["loss"] = found["loss"].reshape(1)
    for name, parameter in model.named_parameters():
        name = "cls.predictions.bias" if name == "cls.predictions.decoder.bias" else name  # one bias under two names
        gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        found["grad." + name] = found.get("grad." + name, 0) + gradient
    return found


def step(case, *options):
    """The dump of one step of the saved model in fp64."""
    path = case.folder / "dump.safetensors"
    case.run("step", "--model", case.folder / "model", "--dtype", "fp64", "--dump", path, *options)
    return load_file(path)


def whole_model(case):
    """Loss, logits, last hidden states and every gradient of a whole model, on T x D ranks."""
    config = draw_config(case)
    model = draw_model(case, config)
    batch, options = draw_batch(case, config)
    ours = step(case, *draw_layout(case, config), "--dp", case.between(1, 2), "--micro-batches", case.between(1, 2), *options)
    compare(ours, results_of(model, config, batch))


def config_keys(case):
    """The same for a config.json that leaves keys out or gives them another form: the classes' defaults."""
    config = draw_config(case)
    given = dict(config)
    gpt = config["model_type"] == "gpt2"
    change = case.pick("left out", "left out", "general names" if gpt else "padding", "left out" if gpt else "padding")
    if change == "left out":
        given.pop(case.pick("activation_function", "layer_norm_epsilon", "n_inner", "tie_word_embeddings") if gpt else
                  case.pick("hidden_act", "layer_norm_eps", "tie_word_embeddings", "pad_token_id", "pad_token_id"))
    elif change == "general names":
        for own, general in transformers.GPT2Config.attribute_map.items():
            given[own] = given.pop(general)  # the map leads from the general name to GPT-2's own
    else:
        given["pad_token_id"] = case.pick(None, 0, -1, -config["vocab_size"], config["vocab_size"] - 1)
    model = draw_model(case, given)
    (case.folder / "model" / "config.json").write_text(json.dumps(given))
    batch, options = draw_batch(case, config)
    compare(step(case, *draw_degree(case, config), *options), results_of(model, config, batch))


def one_layer(case):
    """A layer's dump: X, hidden, grad.Y, grad.X and the weights' gradients, by the checkpoint's names and shapes."""
    config = draw_config(case)
    model = draw_model(case, config)
    gpt = config["model_type"] == "gpt2"
    index = case.between(0, config["n_layer" if gpt else "num_hidden_layers"] - 1)
    block = model.transformer.h[index] if gpt else model.bert.encoder.layer[index]
    prefix = f"transformer.h.{index}." if gpt else f"bert.encoder.layer.{index}."
    hidden = config["n_embd" if gpt else "hidden_size"]
    seq = case.between(1, config["n_positions" if gpt else "max_position_embeddings"])
    x = torch.as_tensor(case.rng.normal(size=(case.between(1, 3), seq, hidden))).requires_grad_()
    ours = step(case, *draw_layout(case, config), "--layer", index, "--input", case.array("x.npy", x.detach().numpy()),
                "--batch", x.shape[0], "--seq", seq)
    causal = torch.full((1, 1, seq, seq), -torch.inf, dtype=torch.float64).triu(1)
    y = block(x, attention_mask=causal) if gpt else block(x)
    y = y[0] if isinstance(y, tuple) else y
    y.backward(ours["grad.Y"])
    theirs = {"X": x.detach(), "hidden": y.detach(), "grad.X": x.grad, "grad.Y": ours["grad.Y"]}
    theirs |= {"grad." + prefix + name: parameter.grad for name, parameter in block.named_parameters()}
    compare(ours, theirs)


def count(case):
    """The number of parameters that `plan` prints."""
    config = draw_config(case)
    model = hugging_face.new_model(config)
    (case.folder / "model").mkdir()
    (case.folder / "model" / "config.json").write_text(json.dumps(config))
    theirs = model.num_parameters()
    if config["model_type"] != "gpt2" and not config["tie_word_embeddings"]:
        theirs -= config["vocab_size"]  # a second bias there, which is never used
    ours = case.run("plan", "--model", case.folder / "model", "--tp", 1, "--pp", 1, "--seq", 2).split(" · ")[1].split()[0]
    if int(ours.replace(",", "")) != theirs:
        raise Disagreement(f"{ours} parameters, transformers counts {theirs}")


def schedule(case):
    """The learning rate of each step: transformers' factor at that step (engine/train/schedule.h)."""
    (case.folder / "text.txt").write_text("In the beginning was the word.\n" * 20)
    peak, warmup, steps = case.pick(1e-3, 3e-4), case.between(0, 6), case.between(8, 20)
    decay, log = case.pick("constant", "linear", "cosine"), case.folder / "log.csv"
    case.run("train", "--model", "gpt2-tiny", "--data", case.folder / "text.txt", "--batch", 1, "--seq", 8, "--tp", 1,
             "--steps", steps, "--lr", peak, "--warmup", warmup, "--decay", decay, "--log", log)
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=peak)
    sizes = (warmup,) if decay == "constant" else (warmup, steps)
    factor = getattr(transformers, f"get_{decay}_schedule_with_warmup")(optimizer, *sizes).lr_lambdas[0]
    for row in csv.DictReader(log.open()):
        expected = peak * factor(int(row["step"]))
        if abs(float(row["learning_rate"]) - expected) > 1e-6 * peak:
            raise Disagreement(f"rate of step {row['step']}: {row['learning_rate']}, transformers' factor gives {expected}")


def text(case):
    """Ids and texts of the tokenizer that stands beside a checkpoint, with its special token in the text."""
    (case.folder / "text.txt").write_text("In the beginning was the word.\n" * 20)
    case.run("train", "--model", "gpt2-tiny", "--data", case.folder / "text.txt", "--batch", 1, "--seq", 8, "--tp", 1,
             "--steps", 2, "--checkpoint", case.folder / "run")
    theirs = transformers.AutoTokenizer.from_pretrained(case.folder / "run")
    parts = ["<|endoftext|>", "<|endoftext", "|>", "word", " ", "\n", "é", "\u65e5\u672c", "e\u0301"]
    for _ in range(8):
        shown = "".join(case.pick(*parts) for _ in range(case.between(1, 9)))
        ours = json.loads(case.run("data", "--tokenizer", case.folder / "run", "--json", "--show=" + shown))
        ids = theirs(shown, add_special_tokens=False)["input_ids"]
        if ours["ids"] != ids:
            raise Disagreement(f"{shown!r} has the ids {ours['ids']}, transformers gives {ids}")
        decoded = theirs.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        if ours["decoded"] != decoded:
            raise Disagreement(f"{shown!r} is decoded as {ours['decoded']!r}, by transformers as {decoded!r}")


# Each kind with its share of --cases.
KINDS = {"model": (whole_model, 1.0), "config": (config_keys, 0.5), "layer": (one_layer, 0.5), "count": (count, 0.2),
         "schedule": (schedule, 0.1), "text": (text, 0.05)}


def run_kind(arguments, kind):
    """Runs one kind's cases; returns how many disagree."""
    compared, share = KINDS[kind]
    numbers = range(max(1, round(arguments.cases * share))) if arguments.only is None else [arguments.only]
    disagreements = 0
    for number in numbers:
        with tempfile.TemporaryDirectory() as folder:
            case = Case(arguments.cli, arguments.seed, kind, number, folder)
            try:
                compared(case)
            except (Disagreement, subprocess.TimeoutExpired) as problem:
                disagreements += 1
                kept = arguments.keep / f"{kind}-{arguments.seed}-{number}"
                shutil.copytree(folder, kept, dirs_exist_ok=True)
                (kept / "commands.txt").write_text("\n".join(case.commands).replace(folder, str(kept)) + f"\n{problem}\n")
                print(f"{kind} {number}: {problem}; its files are in {kept}", flush=True)
    print(f"{kind}: {len(numbers) - disagreements} of {len(numbers)} agree", flush=True)
    return disagreements


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cli", default="build/shardlens-cli", help="the built program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=100, help="cases of whole models; the other kinds have their share")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--only", type=int, help="the number of one case")
    parser.add_argument("--keep", type=Path, default=Path("disagreements"), help="folder for the cases that disagree")
    arguments = parser.parse_args()
    sys.exit(1 if sum(run_kind(arguments, kind) for kind in arguments.kinds.split(",")) else 0)


if __name__ == "__main__":
    main()
