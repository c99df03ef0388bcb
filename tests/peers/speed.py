"""Times the training step of `shardlens-cli bench step` in PyTorch, in the same way.

GPT-2 124M or another of the sizes below, batch 4, sequence 256, fp32, on the CPU or a GPU: forward, backward,
clipping and AdamW, eager and compiled. As there, each round times one step and then the machine's ceiling, the
fastest of the step's own matrix products, so a noisy machine disturbs both. The script prints the median of the rounds'
ratios. In bf16 the weights stay fp32 and autocast rounds them for the products, PyTorch's own mixed precision.
FLOPs are those of the matrix products, without the masked half of attention. On the CPU both sides use the same
number of threads; the ceiling here is torch.mm.

    python speed.py [--model gpt2|gpt2-medium|megatron-1.2b] [--device cpu|cuda] [--threads 2] [--rounds 9]
                    [--batch 4] [--seq 256] [--dtype fp32|bf16] [--only eager|compiled]
"""

import argparse
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn

POSITIONS = 1024
# Vocabulary, hidden size, heads, layers. The larger two, which are for GPUs, have the vocabulary that Shardlens pads
# theirs to at T = 1; GPT-2 has its own, as people train it.
MODELS = {"gpt2": (50257, 768, 12, 12), "gpt2-medium": (50304, 1024, 16, 24), "megatron-1.2b": (50304, 1536, 16, 40)}


class Size:
    def __init__(self, model):
        self.vocab, self.hidden, self.heads, self.layers = MODELS[model]
        # Of one layer.
        self.matrices = [(rows * self.hidden, cols * self.hidden) for rows, cols in ((1, 3), (1, 1), (1, 4), (4, 1))]


class Layer(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.heads = size.heads
        self.norm1, self.norm2 = nn.LayerNorm(size.hidden), nn.LayerNorm(size.hidden)
        self.qkv, self.proj, self.fc, self.out = (nn.Linear(*shape) for shape in size.matrices)

    def forward(self, x):
        rows, seq, hidden = x.shape
        apart = lambda t: t.view(rows, seq, self.heads, hidden // self.heads).transpose(1, 2)
        query, key, value = map(apart, self.qkv(self.norm1(x)).chunk(3, -1))
        context = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.proj(context.transpose(1, 2).reshape(rows, seq, hidden))
        return x + self.out(F.gelu(self.fc(self.norm2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(size.vocab, size.hidden), nn.Embedding(POSITIONS, size.hidden)
        self.layers, self.norm = nn.ModuleList(Layer(size) for _ in range(size.layers)), nn.LayerNorm(size.hidden)
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, inputs, targets):
        x = self.tokens(inputs) + self.positions.weight[:inputs.shape[1]]
        for layer in self.layers:
            x = layer(x)
        logits = self.norm(x) @ self.tokens.weight.T
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def step_flops(size, batch, seq):
    """Every product forward once and backward twice; attention's two products see (seq + 1) / 2 keys a query."""
    tokens = batch * seq
    weights = size.layers * sum(a * b for a, b in size.matrices) + size.vocab * size.hidden
    attention = size.layers * 2 * size.hidden * (seq + 1) // 2
    return 3 * 2 * tokens * (weights + attention)


def products(size, tokens):
    """The distinct products of a step as pairs of shapes: forward, for the input, for the weight."""
    shapes = []
    for rows, cols in size.matrices + [(size.hidden, size.vocab)]:
        shapes += [((tokens, rows), (rows, cols)), ((tokens, cols), (cols, rows)), ((rows, tokens), (tokens, cols))]
    return list(dict.fromkeys(shapes))


def seconds(work):
    """Of a GPU's work too: it is waited for on both sides."""
    wait = torch.cuda.synchronize if torch.get_default_device().type == "cuda" else lambda: None
    wait()
    begin = time.perf_counter()
    work()
    wait()
    return time.perf_counter() - begin


class Ceiling:
    def __init__(self, size, tokens, dtype):
        self.operands = [(torch.randn(a).to(dtype), torch.randn(b).to(dtype)) for a, b in products(size, tokens)]
        for a, b in self.operands:
            torch.mm(a, b)

    def measure(self):
        """FLOP/s of the fastest product."""
        return max(2.0 * a.shape[0] * a.shape[1] * b.shape[1] / seconds(lambda: torch.mm(a, b))
                   for a, b in self.operands)


def bench(name, compiled, size, arguments, ceiling):
    torch.manual_seed(1)
    model = Gpt2(size)
    parameters = list(model.parameters())
    groups = [{"params": [p for p in parameters if p.dim() == 2], "weight_decay": 0.01},
              {"params": [p for p in parameters if p.dim() != 2], "weight_decay": 0.0}]
    adam = torch.optim.AdamW(groups, lr=1e-4, fused=True)
    forward = torch.compile(model) if compiled else model
    tokens = torch.randint(size.vocab, (arguments.batch, arguments.seq + 1))

    def step():
        adam.zero_grad(set_to_none=True)
        with torch.autocast(arguments.device, torch.bfloat16, arguments.dtype == "bf16"):
            loss = forward(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        adam.step()

    for _ in range(2):
        step()
    flops = step_flops(size, arguments.batch, arguments.seq)
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
    parser.add_argument("--model", choices=MODELS, default="gpt2")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--dtype", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--only", choices=["eager", "compiled"])
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.set_default_device(arguments.device)
    size = Size(arguments.model)
    where = torch.cuda.get_device_name() if arguments.device == "cuda" else f"{arguments.threads} threads"
    print(f"PyTorch {torch.__version__}, {arguments.model}, {where}, batch {arguments.batch}, sequence "
          f"{arguments.seq}, {arguments.dtype}, "
          f"{step_flops(size, arguments.batch, arguments.seq) / 1e9:.1f} GFLOP a step")
    dtype = torch.bfloat16 if arguments.dtype == "bf16" else torch.float32
    ceiling = Ceiling(size, arguments.batch * arguments.seq, dtype)
    for name in ("eager", "compiled"):
        if arguments.only in (None, name):
            bench(name, name == "compiled", size, arguments, ceiling)


if __name__ == "__main__":
    main()
