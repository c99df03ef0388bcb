"""One backward pass, clipping by the global norm, and Adam with decoupled weight decay, in simple code."""

import torch


def backward(model, config, weights, batch):
    """The model's outputs and the gradient of its loss for every weight."""
    leaves = {name: value.detach().clone().requires_grad_() for name, value in weights.items()}
    out = model(config, leaves, batch)
    gradients = torch.autograd.grad(out["loss"], list(leaves.values()))
    return {name: value.detach() for name, value in out.items()}, dict(zip(leaves, gradients))


def decays(name, value):
    """Weight decay is for matrices and embeddings; biases and the gains of LayerNorm are vectors."""
    return value.dim() == 2


class AdamW:
    def __init__(self, weights, lr, weight_decay, beta1, beta2, eps, clip):
        self.lr, self.weight_decay, self.beta1, self.beta2, self.eps = lr, weight_decay, beta1, beta2, eps
        self.clip = clip
        self.updates = 0
        self.mean = {name: torch.zeros_like(value) for name, value in weights.items()}
        self.square = {name: torch.zeros_like(value) for name, value in weights.items()}

    def update(self, weights, gradients):
        """Changes the weights in place; returns the gradients' norm before clipping."""
        self.updates += 1
        norm = torch.sqrt(sum((g * g).sum() for g in gradients.values()))
        scale = min(1.0, self.clip / (float(norm) + 1e-6))  # the 1e-6 is torch.nn.utils.clip_grad_norm_'s
        for name, value in weights.items():
            g = gradients[name] * scale
            self.mean[name] += (1 - self.beta1) * (g - self.mean[name])
            self.square[name] += (1 - self.beta2) * (g * g - self.square[name])
            mean = self.mean[name] / (1 - self.beta1**self.updates)
            square = self.square[name] / (1 - self.beta2**self.updates)
            if decays(name, value):
                value *= 1 - self.lr * self.weight_decay
            value -= self.lr * mean / (torch.sqrt(square) + self.eps)
        return float(norm)


def train(model, config, weights, batch, updates, **optimizer):
    """`updates` steps on one batch. Returns losses, the gradients' norms, the last gradients (before clipping)
    and the weights afterwards."""
    weights = {name: value.clone() for name, value in weights.items()}
    adam = AdamW(weights, **optimizer)
    losses, norms = [], []
    for _ in range(updates):
        out, gradients = backward(model, config, weights, batch)
        losses.append(float(out["loss"]))
        norms.append(adam.update(weights, gradients))
    return {"losses": losses, "norms": norms, "gradients": gradients, "weights": weights}
