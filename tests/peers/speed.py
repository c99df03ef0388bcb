"""How fast PyTorch makes the training step that `shardlens-cli bench step` times, in the same measure.

GPT-2 124M, batch 4, sequence 256, fp32: forward, backward, clipping and AdamW, eager and compiled. As there, each
round times one step and then the machine's ceiling, the fastest of the step's own matrix products, so that a
noisy machine disturbs both; printed is the median of the rounds' ratios. In bf16 the weights stay fp32 and autocast
rounds them for the products, PyTorch's own way of mixed precision. FLOPs are those of the matrix products,
the masked half of attention left out. Both sides use the same number of threads; the ceiling here is torch.mm.

    python speed.py [--threads 2] [--rounds 9] [--batch 4] [--seq 256] [--dtype fp32|bf16]
                    [--only eager|compiled]
"""

import argparse
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn

VOCAB, POSITIONS, HIDDEN, HEADS, LAYERS = 50257, 1024, 768, 12, 12
MATRICES = [(HIDDEN, 3 * HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, 4 * HIDDEN), (4 * HIDDEN, HIDDEN)]  # of one layer


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(HIDDEN), nn.LayerNorm(HIDDEN)
        self.qkv, self.proj, self.fc, self.out = (nn.Linear(*shape) for shape in MATRICES)

    def forward(self, x):
        rows, seq, _ = x.shape
        apart = lambda t: t.view(rows, seq, HEADS, HIDDEN // HEADS).transpose(1, 2)
        query, key, value = map(apart, self.qkv(self.norm1(x)).chunk(3, -1))
        context = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.proj(context.transpose(1, 2).reshape(rows, seq, HIDDEN))
        return x + self.out(F.gelu(self.fc(self.norm2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCAB, HIDDEN), nn.Embedding(POSITIONS, HIDDEN)
        self.layers, self.norm = nn.ModuleList(Layer() for _ in range(LAYERS)), nn.LayerNorm(HIDDEN)
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, inputs, targets):
        x = self.tokens(inputs) + self.positions.weight[:inputs.shape[1]]
        for layer in self.layers:
            x = layer(x)
        logits = self.norm(x) @ self.tokens.weight.T
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def step_flops(batch, seq):
    """Every product forward once and backward twice; attention's two products see (seq + 1) / 2 keys a query."""
    tokens = batch * seq
    weights = LAYERS * sum(a * b for a, b in MATRICES) + VOCAB * HIDDEN
    attention = LAYERS * 2 * HIDDEN * (seq + 1) // 2
    return 3 * 2 * tokens * (weights + attention)


def products(tokens):
    """The distinct products of a step as pairs of shapes: forward, for the input, for the weight."""
    shapes = []
    for rows, cols in MATRICES + [(HIDDEN, VOCAB)]:
        shapes += [((tokens, rows), (rows, cols)), ((tokens, cols), (cols, rows)), ((rows, tokens), (tokens, cols))]
    return list(dict.fromkeys(shapes))


def seconds(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


class Ceiling:
    def __init__(self, tokens, dtype):
        self.operands = [(torch.randn(a).to(dtype), torch.randn(b).to(dtype)) for a, b in products(tokens)]
        for a, b in self.operands:
            torch.mm(a, b)

    def measure(self):
        """FLOP/s of the fastest product."""
        return max(2.0 * a.shape[0] * a.shape[1] * b.shape[1] / seconds(lambda: torch.mm(a, b))
                   for a, b in self.operands)


def bench(name, compiled, arguments, ceiling):
    torch.manual_seed(1)
    model = Gpt2()
    parameters = list(model.parameters())
    groups = [{"params": [p for p in parameters if p.dim() == 2], "weight_decay": 0.01},
              {"params": [p for p in parameters if p.dim() != 2], "weight_decay": 0.0}]
    adam = torch.optim.AdamW(groups, lr=1e-4, fused=True)
    forward = torch.compile(model) if compiled else model
    tokens = torch.randint(VOCAB, (arguments.batch, arguments.seq + 1))

    def step():
        adam.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, arguments.dtype == "bf16"):
            loss = forward(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        adam.step()

    for _ in range(2):
        step()
    flops = step_flops(arguments.batch, arguments.seq)
    times, ceilings = [], []
    for _ in range(arguments.rounds):
        times.append(seconds(step))
        ceilings.append(ceiling.measure())
    ratios = [flops / t / c for t, c in zip(times, ceilings)]
    print(f"{name:8} {statistics.median(times):.3f} s a step (from {min(times):.3f} to {max(times):.3f}), "
          f"{flops / statistics.median(times) / 1e9:.0f} GFLOP/s, {100 * statistics.median(ratios):.0f} % of "
          f"{statistics.median(ceilings) / 1e9:.0f} GFLOP/s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option, default in (("threads", 2), ("rounds", 9), ("batch", 4), ("seq", 256)):
        parser.add_argument("--" + option, type=int, default=default)
    parser.add_argument("--dtype", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--only", choices=["eager", "compiled"])
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(f"PyTorch {torch.__version__}, {arguments.threads} threads, batch {arguments.batch}, sequence "
          f"{arguments.seq}, {arguments.dtype}, {step_flops(arguments.batch, arguments.seq) / 1e9:.1f} GFLOP a step")
    ceiling = Ceiling(arguments.batch * arguments.seq, torch.bfloat16 if arguments.dtype == "bf16" else torch.float32)
    for name in ("eager", "compiled"):
        if arguments.only in (None, name):
            bench(name, name == "compiled", arguments, ceiling)


if __name__ == "__main__":
    main()
