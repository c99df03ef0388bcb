"""Simple implementations of GPT-2 and BERT: each is a function of a dictionary of weights, without torch.nn modules.

This is the independent implementation that the golden files come from. It shares no code with the engine.
Of PyTorch it uses only matrix products, elementary functions and autograd, so the code shows every computation. `config` is a dictionary with Hugging Face's keys, `w` maps Hugging Face's tensor names to tensors
in their own orientation: GPT-2's matrices are [in, out], BERT's are [out, in].
"""

import math

import torch

IGNORED_LABEL = -100


def layer_norm(x, w, name, epsilon):
    centred = x - x.mean(-1, keepdim=True)
    variance = (centred * centred).mean(-1, keepdim=True)
    return centred / torch.sqrt(variance + epsilon) * w[name + ".weight"] + w[name + ".bias"]


def gelu_tanh(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)))


def gelu_erf(x):
    return 0.5 * x * (1.0 + torch.erf(x / math.sqrt(2.0)))


ACTIVATIONS = {"gelu_new": gelu_tanh, "gelu": gelu_erf}


def attention(query, key, value, heads, visible):
    """query, key, value [B, S, C]; visible [B, S, S] is true where the query (second) may see the key (third)."""
    batch, seq, hidden = query.shape
    apart = lambda t: t.view(batch, seq, heads, hidden // heads).permute(0, 2, 1, 3)  # [B, heads, S, C/heads]
    scores = apart(query) @ apart(key).transpose(-1, -2) / math.sqrt(hidden // heads)
    scores = scores.masked_fill(~visible[:, None], -math.inf)
    together = torch.softmax(scores, -1) @ apart(value)
    return together.permute(0, 2, 1, 3).reshape(batch, seq, hidden)


def cross_entropy(logits, labels):
    """Mean over the labels that are not ignored; logits [N, classes], labels [N]."""
    kept = labels != IGNORED_LABEL
    logits, labels = logits[kept], labels[kept]
    target = logits.gather(-1, labels[:, None]).squeeze(-1)
    return (torch.logsumexp(logits, -1) - target).mean()


def gpt2(config, w, batch):
    """batch: tokens [B, S+1]. Returns loss [], logits [B, S, V], hidden [B, S, C]."""
    conv = lambda x, name: x @ w[name + ".weight"] + w[name + ".bias"]
    norm = lambda x, name: layer_norm(x, w, name, config["layer_norm_epsilon"])
    act = ACTIVATIONS[config["activation_function"]]
    inputs, targets = batch["tokens"][:, :-1], batch["tokens"][:, 1:]
    rows, seq = inputs.shape
    visible = torch.ones(seq, seq, dtype=torch.bool).tril().expand(rows, seq, seq)

    x = w["transformer.wte.weight"][inputs] + w["transformer.wpe.weight"][:seq]
    for layer in range(config["n_layer"]):
        h = f"transformer.h.{layer}."
        query, key, value = conv(norm(x, h + "ln_1"), h + "attn.c_attn").chunk(3, -1)
        x = x + conv(attention(query, key, value, config["n_head"], visible), h + "attn.c_proj")
        x = x + conv(act(conv(norm(x, h + "ln_2"), h + "mlp.c_fc")), h + "mlp.c_proj")
    hidden = norm(x, "transformer.ln_f")
    logits = hidden @ w["transformer.wte.weight" if config["tie_word_embeddings"] else "lm_head.weight"].T
    loss = cross_entropy(logits.reshape(rows * seq, -1), targets.reshape(-1))
    return {"loss": loss, "logits": logits, "hidden": hidden}


def bert(config, w, batch):
    """batch: tokens, token_types, attention_mask, labels [B, S] and sop [B].

    model_type "bert" is the original, LayerNorm after every sum; "megatron-bert" is Figure 7 (b) of the Megatron
    paper: LayerNorm at each block's input, the residual around it, one more LayerNorm at the end and none on the
    embedding. Returns loss [], logits [B, S, V], hidden [B, S, C], sop_logits [B, 2].
    """
    linear = lambda x, name: x @ w[name + ".weight"].T + w[name + ".bias"]
    norm = lambda x, name: layer_norm(x, w, name, config["layer_norm_eps"])
    act = ACTIVATIONS[config["hidden_act"]]
    pre_norm = config["model_type"] == "megatron-bert"
    tokens = batch["tokens"]
    rows, seq = tokens.shape
    visible = batch["attention_mask"].bool()[:, None, :].expand(rows, seq, seq)

    def attend(x, a):
        query, key, value = (linear(x, a + "self." + part) for part in ("query", "key", "value"))
        return linear(attention(query, key, value, config["num_attention_heads"], visible), a + "output.dense")

    def feed_forward(x, h):
        return linear(act(linear(x, h + "intermediate.dense")), h + "output.dense")

    e = "bert.embeddings."
    x = (w[e + "word_embeddings.weight"][tokens] + w[e + "position_embeddings.weight"][:seq]
         + w[e + "token_type_embeddings.weight"][batch["token_types"]])
    if not pre_norm:
        x = norm(x, e + "LayerNorm")
    for layer in range(config["num_hidden_layers"]):
        h = f"bert.encoder.layer.{layer}."
        if pre_norm:
            x = x + attend(norm(x, h + "attention.ln"), h + "attention.")
            x = x + feed_forward(norm(x, h + "ln"), h)
        else:
            x = norm(x + attend(x, h + "attention."), h + "attention.output.LayerNorm")
            x = norm(x + feed_forward(x, h), h + "output.LayerNorm")
    hidden = norm(x, "bert.encoder.ln") if pre_norm else x

    p = "cls.predictions."
    transformed = norm(act(linear(hidden, p + "transform.dense")), p + "transform.LayerNorm")
    logits = transformed @ w[e + "word_embeddings.weight"].T + w[p + "bias"]
    pooled = torch.tanh(linear(hidden[:, 0], "bert.pooler.dense"))
    sop_logits = linear(pooled, "cls.seq_relationship")
    loss = (cross_entropy(logits.reshape(rows * seq, -1), batch["labels"].reshape(-1))
            + cross_entropy(sop_logits, batch["sop"]))
    return {"loss": loss, "logits": logits, "hidden": hidden, "sop_logits": sop_logits}


def model_of(config):
    return gpt2 if config["model_type"] == "gpt2" else bert
