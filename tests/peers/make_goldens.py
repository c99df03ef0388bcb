"""Writes the golden files under tests/data/goldens: small GPT-2 and BERT models with every number that an
independent implementation computes for them, in fp64.

Each case is cross-checked before it is written: the plain implementation (plain_model, plain_training) and
Hugging Face's models with PyTorch's own AdamW must agree on everything to about rounding, and each part of
the update (clipping, decay) must change the numbers.

    python make_goldens.py [--out FOLDER]
"""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

import hugging_face
import plain_training
from plain_model import IGNORED_LABEL, model_of

VOCAB, SEQ, POSITIONS, UPDATES = 503, 17, 32, 10
OPTIMIZER = {"lr": 1e-3, "weight_decay": 0.01, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "clip": 1.0}
# First and last rows of vocabulary shards at T = 2, 3, 4, 5 (padded to 128 T), and of the vocabulary.
BORDERS = [0, 127, 128, 255, 256, 383, 384, 502]


def gpt2_config(hidden, heads, inner=None, epsilon=1e-5, tied=True, layers=2):
    return {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": VOCAB,
            "n_positions": POSITIONS, "n_embd": hidden, "n_head": heads, "n_layer": layers, "n_inner": inner,
            "activation_function": "gelu_new", "layer_norm_epsilon": epsilon, "tie_word_embeddings": tied,
            "bos_token_id": None, "eos_token_id": None}


def bert_config(model_type, hidden, heads, inner, epsilon):
    architecture = {"bert": "BertForPreTraining", "megatron-bert": "MegatronBertForPreTraining"}[model_type]
    norm = {"bert": "post", "megatron-bert": "pre"}[model_type]
    # No padding token: its row of the embedding would be left out of the lookup's gradient.
    return {"model_type": model_type, "architectures": [architecture], "norm": norm, "vocab_size": VOCAB,
            "max_position_embeddings": POSITIONS, "hidden_size": hidden, "num_attention_heads": heads,
            "num_hidden_layers": 2, "intermediate_size": inner, "hidden_act": "gelu", "layer_norm_eps": epsilon,
            "type_vocab_size": 2, "pad_token_id": None, "tie_word_embeddings": True}


class Case:
    def __init__(self, name, config, rows, seed, whole, token_type=np.int64):
        self.name, self.config, self.rows, self.seed = name, config, rows, seed
        self.whole = whole  # with logits, and with the weights after the updates
        self.token_type = token_type


CASES = [
    Case("gpt2-3-heads", gpt2_config(24, 3), rows=2, seed=1, whole=True),
    Case("gpt2-5-heads", gpt2_config(40, 5, inner=100, epsilon=1e-3), rows=4, seed=2, whole=False,
         token_type=np.int32),
    Case("gpt2-untied", gpt2_config(24, 3, tied=False, layers=1), rows=2, seed=3, whole=False),
    Case("bert-post-3-heads", bert_config("bert", 24, 3, 72, 1e-12), rows=4, seed=4, whole=True),
    Case("bert-pre-5-heads", bert_config("megatron-bert", 40, 5, 160, 1e-6), rows=2, seed=5, whole=False),
]


def draw_weights(config, random):
    """Every tensor drawn, biases and norms too, so that none can be misplaced unnoticed; numbers of fp32, so
    that a run in fp32 reads the same weights."""
    weights = {}
    for name, shape in hugging_face.weight_shapes(config).items():
        values = random.standard_normal(shape)
        if len(shape) == 2:
            values *= 0.35 if "embedding" in name or "wte" in name or "wpe" in name else 1.2 / np.sqrt(shape[0])
        elif name.endswith(".weight"):
            values = 1.0 + 0.2 * values
        else:
            values *= 0.2
        weights[name] = torch.from_numpy(values.astype(np.float32))
    return weights


def draw_batch(case, random):
    encoder = case.config["model_type"] != "gpt2"
    tokens = random.integers(0, VOCAB, (case.rows, SEQ if encoder else SEQ + 1))
    tokens[0, 1:1 + len(BORDERS)] = BORDERS
    tokens[1, 5:8] = tokens[0, 3]  # a token that comes several times
    if not encoder:
        return {"tokens": tokens}
    lengths = [SEQ, 11, 16, 5][:case.rows]
    mask = np.array([[position < length for position in range(SEQ)] for length in lengths], np.int64)
    types = np.array([[length // 2 <= position < length for position in range(SEQ)] for length in lengths],
                     np.int64)
    # Halves of the batch with unequal numbers of labels, and in the larger batch a sequence with none: the
    # mean over all labels is not the mean of the halves' means.
    labels = np.full((case.rows, SEQ), IGNORED_LABEL)
    labels[0, [1, 2, 4, 7, 9]] = [127, 128, 0, 502, 255]
    labels[1, [3, 8]] = random.integers(0, VOCAB, 2)
    if case.rows > 2:
        labels[2, 14] = 384
    sop = np.array([1, 0, 0, 1][:case.rows])
    return {"tokens": tokens, "token_types": types, "attention_mask": mask, "labels": labels, "sop": sop}


def fp64(numbers):
    return torch.tensor(numbers, dtype=torch.float64)


def worst(a, b):
    """Largest relative difference of two dictionaries of tensors: norm of the difference over the norm, or over
    a thousandth of the largest norm for tensors that are nearly zero (the keys' bias has no gradient)."""
    assert set(a) == set(b), set(a) ^ set(b)
    floor = 1e-3 * max(float(b[name].norm()) for name in b)
    return max(float((a[name] - b[name]).norm()) / max(float(b[name].norm()), floor) for name in b)


def check(case, weights, batch, out, gradients, trained):
    """Raises unless Hugging Face and PyTorch's optimizer find the same."""
    peer = hugging_face.model_with(case.config, weights)
    theirs = {name: value.detach() for name, value in hugging_face.run(peer, case.config, batch).items()}
    their_training = hugging_face.train(peer, case.config, batch, UPDATES, **OPTIMIZER)
    first = hugging_face.train(hugging_face.model_with(case.config, weights), case.config, batch, 1, **OPTIMIZER)
    found = {"outputs": worst(out, theirs), "gradients": worst(gradients, first["gradients"]),
             "losses": worst({"": fp64(trained["losses"])}, {"": fp64(their_training["losses"])}),
             "last gradients": worst(trained["gradients"], their_training["gradients"]),
             "parameters": worst(trained["weights"], their_training["weights"])}
    for what, changed in (("clipping", {"clip": 1e9}), ("decay", {"weight_decay": 0.0})):
        other = plain_training.train(model_of(case.config), case.config, weights, batch, UPDATES,
                                     **(OPTIMIZER | changed))
        found["without " + what] = worst(trained["weights"], other["weights"])
    print(f"{case.name}: loss {float(out['loss']):.6f} to {trained['losses'][-1]:.6f}, norm "
          f"{trained['norms'][0]:.2f} to {trained['norms'][-1]:.2f}; "
          + ", ".join(f"{what} {value:.1e}" for what, value in found.items()))
    for what, value in found.items():
        if what.startswith("without"):
            assert value > 1e-5, f"{what} nothing changes"
        else:
            # The keys' bias has a gradient of zero but for rounding, which Adam enlarges by 1 / eps.
            assert value < (1e-10 if what == "parameters" else 1e-12), f"{what} differ by {value}"


def write(case, folder):
    random = np.random.default_rng(case.seed)
    stored = draw_weights(case.config, random)
    weights = {name: value.double() for name, value in stored.items()}
    arrays = draw_batch(case, random)
    batch = {name: torch.from_numpy(np.asarray(value, np.int64)) for name, value in arrays.items()}
    model = model_of(case.config)
    out, gradients = plain_training.backward(model, case.config, weights, batch)
    trained = plain_training.train(model, case.config, weights, batch, UPDATES, **OPTIMIZER)
    check(case, weights, batch, out, gradients, trained)

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(case.config, indent=2) + "\n")
    save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})
    for name, value in arrays.items():
        np.save(folder / f"{name}.npy", value.astype(case.token_type if name == "tokens" else np.int64))
    losses = fp64(trained["losses"])
    expected = {"loss": out["loss"].reshape(1), "losses": losses, "hidden": out["hidden"]}
    if case.whole:
        expected["logits"] = out["logits"]
    if "sop_logits" in out:
        expected["sop_logits"] = out["sop_logits"]
    expected |= {"grad." + name: value for name, value in gradients.items()}
    save_file({name: value.contiguous() for name, value in expected.items()}, folder / "expected_fp64.safetensors")
    if case.whole:
        after = {"loss": losses[-1:].clone(), "losses": losses}
        after |= {"grad." + name: value for name, value in trained["gradients"].items()}
        after |= {"param." + name: value for name, value in trained["weights"].items()}
        save_file({name: value.contiguous() for name, value in after.items()},
                  folder / "after_updates_fp64.safetensors")


def main():
    here = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=here.parent / "data" / "goldens")
    out = parser.parse_args().out
    torch.set_num_threads(1)  # the same sums in the same order, run to run
    for case in CASES:
        write(case, out / case.name)


if __name__ == "__main__":
    main()
