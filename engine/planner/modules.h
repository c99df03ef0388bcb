// The pieces a transformer layer is planned from. Each takes tensors and yields tensors, states which layouts
// its operations accept, and leaves its backward pass on the builder's tape. None of them writes a
// collective.
#pragma once

#include <string>

#include "engine/planner/builder.h"

namespace shardlens {

/// Names of one linear layer: its module name on screen, its parameters in the checkpoint, and the letters of
/// its output before and after the bias.
struct LinearNames {
  std::string module;  ///< "mlp.fc"
  std::string weight;  ///< "transformer.h.0.mlp.c_fc.weight"
  std::string bias;    ///< "transformer.h.0.mlp.c_fc.bias"
  std::string weight_symbol;
  std::string sum_symbol;  ///< of X·W where the bias comes later (row-parallel)
  std::string out_symbol;
};

/// The dimensions of W [in..., out...]; `in_cut` and `out_cut` index the dimension a row or column cut
/// slices, so that a fused QKV [hidden, 3, heads, head_dim] is cut between heads and never across one.
struct LinearShape {
  Shape in, out;
  int in_cut = 0;
  int out_cut = 0;
};

/// Y = X·W + b for X [tokens, in...]. Column: X Replicated, Y Sharded, bias sliced with W and added locally.
/// Row: X Sharded, X·W Partial, converted to `after_row` and only then given its bias (DESIGN section 2).
TensorId linear(Builder& builder, TensorId x, const LinearNames& names, const LinearShape& shape, Cut cut,
                Layout after_row = kReplicated);

/// GeLU, element-wise: Replicated or Sharded, never Partial.
TensorId gelu(Builder& builder, TensorId x, const std::string& value, const std::string& symbol);

/// LayerNorm over the last dimension; needs it whole, so Replicated.
TensorId layer_norm(Builder& builder, TensorId x, const std::string& module, const std::string& parameters,
                    const std::string& symbol);

/// x + y, both in the layout of x.
TensorId residual(Builder& builder, TensorId x, TensorId y, const std::string& value,
                  const std::string& symbol);

/// softmax(Q·Kᵀ/√d)·V on QKV [tokens, 3, heads, head_dim], Replicated or Sharded(heads); yields [tokens,
/// heads, head_dim].
TensorId attention_core(Builder& builder, TensorId qkv);

/// The MLP block of the paper's Figure 3a; the output is [tokens, hidden], Replicated.
TensorId mlp(Builder& builder, TensorId x, const std::string& out_symbol);

/// The self-attention block of Figure 3b; the output is [tokens, hidden], Replicated.
TensorId attention(Builder& builder, TensorId x, const std::string& out_symbol);

/// The checkpoint name of a parameter of the planned layer, in Hugging Face's words: parameter_name(settings,
/// "mlp.fc.weight") is "transformer.h.0.mlp.c_fc.weight" for GPT-2.
std::string parameter_name(const Settings& settings, const std::string& parameter);

}  // namespace shardlens
