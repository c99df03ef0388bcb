"""The same models from the `transformers` package: built from a config and a dictionary of weights, no download.

Used to cross-check the plain implementation, and to load what Shardlens writes.
"""

import torch
import transformers


CLASSES = {"gpt2": (transformers.GPT2Config, transformers.GPT2LMHeadModel),
           "bert": (transformers.BertConfig, transformers.BertForPreTraining),
           "megatron-bert": (transformers.MegatronBertConfig, transformers.MegatronBertForPreTraining)}


def new_model(config):
    make_config, make_model = CLASSES[config["model_type"]]
    settings = make_config(**{key: value for key, value in config.items() if key != "model_type"},
                           attn_implementation="eager")
    return make_model(settings).eval()


def weight_shapes(config):
    """Name to shape of every weight, a tied one once, under its first name."""
    return {name: tuple(value.shape) for name, value in new_model(config).named_parameters()}


def model_with(config, weights, dtype=torch.float64):
    """A model for pre-training with exactly these weights. Every weight must find its place and every place its
    weight; tied copies are not asked for."""
    model = new_model(config).to(dtype)
    missing, unexpected = model.load_state_dict(weights, strict=False)
    tied = {"lm_head.weight"} if config["tie_word_embeddings"] else set()
    tied |= {"cls.predictions.decoder.weight", "cls.predictions.decoder.bias"}
    assert not unexpected and set(missing) <= tied, (missing, unexpected)
    model.tie_weights()
    return model


def run(model, config, batch):
    """loss, logits, hidden (and sop_logits), named as in plain_model."""
    if config["model_type"] == "gpt2":
        inputs, targets = batch["tokens"][:, :-1], batch["tokens"][:, 1:].contiguous()
        out = model(input_ids=inputs, output_hidden_states=True)
        loss = torch.nn.functional.cross_entropy(out.logits.flatten(0, 1), targets.flatten())
        return {"loss": loss, "logits": out.logits, "hidden": out.hidden_states[-1]}
    out = model(input_ids=batch["tokens"], token_type_ids=batch["token_types"],
                attention_mask=batch["attention_mask"], labels=batch["labels"],
                next_sentence_label=batch["sop"], output_hidden_states=True)
    return {"loss": out.loss, "logits": out.prediction_logits, "hidden": out.hidden_states[-1],
            "sop_logits": out.seq_relationship_logits}


def train(model, config, batch, updates, lr, weight_decay, beta1, beta2, eps, clip):
    """PyTorch's own AdamW and clipping; returns what plain_training.train returns, by name."""
    named = dict(model.named_parameters())  # a tied parameter is listed once, under its first name
    groups = [{"params": [p for p in named.values() if p.dim() == 2], "weight_decay": weight_decay},
              {"params": [p for p in named.values() if p.dim() != 2], "weight_decay": 0.0}]
    adam = torch.optim.AdamW(groups, lr=lr, betas=(beta1, beta2), eps=eps)
    losses, norms, gradients = [], [], {}
    for _ in range(updates):
        adam.zero_grad()
        loss = run(model, config, batch)["loss"]
        loss.backward()
        gradients = {name: p.grad.clone() for name, p in named.items()}
        norms.append(float(torch.nn.utils.clip_grad_norm_(list(named.values()), clip)))
        adam.step()
        losses.append(float(loss.detach()))
    return {"losses": losses, "norms": norms, "gradients": gradients,
            "weights": {name: p.detach() for name, p in named.items()}}
