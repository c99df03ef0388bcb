"""Loads a checkpoint that Shardlens wrote with the real loaders of `safetensors` and `transformers`, and compares
what the model computes there with a dump of `shardlens-cli step` on the same batch.

    python loaders.py FOLDER
    python loaders.py FOLDER --dump OUT.safetensors --tokens T.npy [--labels L.npy --token-types Y.npy
                             --attention-mask M.npy --sop S.npy]

FOLDER holds config.json and model.safetensors, or the index and files of a large model. Without --dump, the check is that every tensor finds its place and
no place stays empty. A dump made without updates is compared completely: loss, logits, hidden and every gradient.
Exits 1 when something does not load or differs by more than --bound (2e-5 in fp32, 1e-11 in fp64).
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors import safe_open
from safetensors.torch import load_file

import hugging_face

# Tied copies are not stored; GPT-2's and BERT's loaders fill them in and list them or not, by version.
TIED = {"lm_head.weight", "cls.predictions.decoder.weight", "cls.predictions.decoder.bias"}


def load(folder, dtype):
    model, info = transformers.AutoModelForPreTraining.from_pretrained(
        folder, dtype=dtype, attn_implementation="eager", output_loading_info=True)
    tied = TIED if model.config.tie_word_embeddings else set()
    problems = [f"{what}: {sorted(names)}" for what, names in
                (("tensors that found no place", set(info["unexpected_keys"])),
                 ("weights that stayed as initialised", set(info["missing_keys"]) - tied),
                 ("shapes that differ", {str(key) for key in info.get("mismatched_keys", [])})) if names]
    return model.eval(), problems


def batch_of(arguments):
    paths = {"tokens": arguments.tokens, "labels": arguments.labels, "token_types": arguments.token_types,
             "attention_mask": arguments.attention_mask, "sop": arguments.sop}
    return {name: torch.from_numpy(np.load(path).astype(np.int64)) for name, path in paths.items() if path}


def is_key_bias(name):
    return name.endswith("attention.self.key.bias")


def without_key_part(name, value):
    """The keys' bias has a gradient of zero but for rounding: GPT-2's fused bias is compared without it."""
    if not name.endswith("attn.c_attn.bias"):
        return value
    query, _, part = value.chunk(3)
    return torch.cat([query, part])


def compare(model, config, batch, dump, bound):
    """One line for each kind of tensor, with the worst; true when all are within the bound."""
    out = hugging_face.run(model, config, batch)
    out["loss"].backward()
    theirs = {name: value.detach() for name, value in out.items()}
    theirs["loss"] = theirs["loss"].reshape(1)
    theirs |= {"grad." + name: value.grad for name, value in model.named_parameters() if value.grad is not None}
    worst, absent = {}, []
    for name, expected in theirs.items():
        if is_key_bias(name) or (name == "sop_logits" and name not in dump):
            continue
        if name not in dump:
            absent.append(name)
            continue
        ours, expected = without_key_part(name, dump[name].double()), without_key_part(name, expected.double())
        error = float((ours - expected).norm() / expected.norm()) if ours.shape == expected.shape else float("inf")
        kind = "gradients" if name.startswith("grad.") else name
        worst[kind] = max(worst.get(kind, (-1.0, "")), (error, name))
    for kind, (error, name) in worst.items():
        print(f"{kind:10} {error:.1e} {'' if kind == name else '(' + name + ')'}{'' if error <= bound else '  TOO FAR'}")
    if absent:
        print("not in the dump:", ", ".join(absent))
    return not any(not error <= bound for error, _ in worst.values()) and not absent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    for option in ("dump", "tokens", "labels", "token-types", "attention-mask", "sop"):
        parser.add_argument("--" + option, type=Path)
    parser.add_argument("--bound", type=float)
    arguments = parser.parse_args()
    if arguments.dump and not arguments.tokens:
        parser.error("--dump needs --tokens, the batch the dump was made with")

    files = sorted(arguments.folder.glob("model*.safetensors"))
    names = []
    for path in files:
        with safe_open(path, "pt") as file:
            names += file.keys()
    print(f"safetensors: {len(names)} tensors in {len(files)} files")
    dump = load_file(arguments.dump) if arguments.dump else {}
    dtype = torch.float64 if dump and dump["loss"].dtype == torch.float64 else torch.float32
    model, problems = load(arguments.folder, dtype)
    print(f"{type(model).__name__}: {sum(p.numel() for p in model.parameters())} parameters loaded")
    for problem in problems:
        print(problem)
    agrees = True
    if dump:
        config = json.loads((arguments.folder / "config.json").read_text())
        bound = arguments.bound or (1e-11 if dtype == torch.float64 else 2e-5)
        agrees = compare(model, config, batch_of(arguments), dump, bound)
    sys.exit(0 if agrees and not problems else 1)


if __name__ == "__main__":
    main()
