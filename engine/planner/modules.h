// The modules from which a transformer layer is planned. Each module takes and returns tensors, states which
// layouts its operations accept, and leaves its backward pass on the builder's tape. No module writes a
// collective.
#pragma once

#include <string>

#include "engine/config/presets.h"
#include "engine/planner/builder.h"

namespace shardlens {

/// The layout of the residual stream X [tokens, hidden] between the blocks, and of everything that works on
/// it: Replicated, Sharded(1) over hidden or Sharded(0) over the tokens, as the split's `norm` says.
Layout stream_layout(const Settings& settings);

/// The layout in which a linear layer under `cut` reads its X. An earlier sum can be converted to it
/// directly.
Layout linear_input(const Settings& settings, Cut cut);

/// Names of one linear layer: its module name on screen, its parameters in the checkpoint, and the letters of
/// its output before and after the bias.
struct LinearNames {
  std::string module;  ///< "mlp.fc"
  std::string weight;  ///< "transformer.h.0.mlp.c_fc.weight"
  std::string bias;    ///< "transformer.h.0.mlp.c_fc.bias"
  std::string weight_symbol;
  std::string sum_symbol;  ///< of X·W if the bias comes later (row-parallel)
  std::string out_symbol;
  Role role;  ///< of W
  Role bias_role;
  Role out_role = Role::None;  ///< of the result, before and after the bias
};

/// The dimensions of W [in..., out...]. `in_cut` and `out_cut` are the indices of the dimensions that a row
/// or column cut slices. So a fused QKV [hidden, 3, heads, head_dim] is cut between heads and never across
/// one.
struct LinearShape {
  Shape in, out;
  int in_cut = 0;
  int out_cut = 0;
  /// The form of the slices along the dimension that is cut: padded, or with copies.
  Layout slices = sharded(0);
};

/// Y = X·W + b for X [tokens, in...].
/// Column: X Replicated, Y Sharded, the bias sliced with W and added locally.
/// Row: X Sharded, X·W Partial, converted to `after_row`; the bias is added only then.
/// Replicated: X Replicated or, if the stream is cut over the tokens, Sharded(0); Y has the layout of X.
TensorId linear(Builder& builder, TensorId x, const LinearNames& names, const LinearShape& shape, Cut cut,
                Layout after_row = kReplicated);

/// The two halves of linear(), for products that read the same X, which is an operand(). linear_operand()
/// returns X as a product under `cut` reads it, with its f (`row_layout` is for a row cut). linear_product()
/// is the product of it.
TensorId linear_operand(Builder& builder, TensorId x, Cut cut, Layout row_layout);
TensorId linear_product(Builder& builder, TensorId x, const LinearNames& names, const LinearShape& shape,
                        Cut cut, Layout after_row = kReplicated);

/// GeLU, element-wise: Replicated or Sharded, never Partial.
TensorId gelu(Builder& builder, TensorId x, const std::string& value, const std::string& symbol);

/// LayerNorm over the last dimension of the stream, in the stream's layout. A token's numbers are whole on
/// one rank. If they are cut over hidden, the ranks add two sums per token, of x and of x², and two more in
/// the backward pass.
TensorId layer_norm(Builder& builder, TensorId x, const std::string& module, const std::string& parameters,
                    const std::string& symbol);

/// x + y, both in the layout of x.
TensorId residual(Builder& builder, TensorId x, TensorId y, const std::string& value,
                  const std::string& symbol);

/// Limits the keys that a token may see, in addition to the model's own rule. The same in every layer. Int32
/// [tokens] each.
struct Visibility {
  TensorId mask = kNoTensor;  ///< 0 at keys that no token may see
  /// For a pass of generation: each token's place in its sequence. Its key and value are cached there, and
  /// the token sees the cache up to that place.
  TensorId positions = kNoTensor;
};

/// What attention reads: QKV [tokens, 3, heads, head_dim]; or, with grouped queries, Q [tokens, units, heads
/// of one, head_dim] (HeadsCut) and KV [tokens, 2, key heads, head_dim].
struct AttentionInput {
  TensorId q = kNoTensor;  ///< QKV if there is no KV
  TensorId kv = kNoTensor;
};

/// softmax(Q·Kᵀ/√d)·V, Replicated or Sharded(heads). Returns [tokens, heads, head_dim], with grouped queries
/// in the shape of Q. Key heads are sliced with the query heads, held in copies, or whole on each rank while
/// the query heads are sliced: then each rank has a part of their gradient. A cut over the tokens is
/// converted to a cut over the heads. With a cache, K and V are those of all tokens so far, for each rank's
/// own heads.
TensorId attention_core(Builder& builder, AttentionInput in, const Visibility& visible = {});

/// The MLP block of the paper's Figure 3a; the output is [tokens, hidden] in the stream's layout.
TensorId mlp(Builder& builder, TensorId x, const std::string& out_symbol);

/// The self-attention block of Figure 3b; the output is [tokens, hidden] in the stream's layout.
TensorId attention(Builder& builder, TensorId x, const std::string& out_symbol,
                   const Visibility& visible = {});

/// One transformer layer on X [tokens, hidden], pre-LN or post-LN as the model says.
TensorId transformer_layer(Builder& builder, TensorId x, const Visibility& visible = {});

/// Dropout: sets elements to zero with the settings' probability and scales the others so that the mean
/// stays. Returns `x` itself if the probability is 0. The mask is drawn by global element from the stream
/// that `value` names. So it is the same on every rank that holds the element, and does not depend on T.
TensorId dropout(Builder& builder, TensorId x, const std::string& value, const std::string& symbol);

/// Rows of a table [rows, hidden] by id [tokens], Int32. If the table is cut over its rows, the output is
/// Partial: a rank writes zeros for rows that it does not hold (paper, section 3). If it is cut over hidden,
/// the output is Sharded(1). If the rank's own tokens read a whole table, the output is Sharded(0). The
/// output is then converted to the stream's layout. The row of `no_gradient_id` gets no gradient from
/// lookups.
TensorId embedding(Builder& builder, TensorId ids, Role role, const std::string& module,
                   const std::string& parameter, const std::string& weight_symbol,
                   const std::string& out_symbol, int64_t rows, Layout layout, int64_t no_gradient_id = -1);

/// The T that the vocabulary is padded for.
int vocab_ranks(const Settings& settings);

/// The logits [tokens, padded vocabulary] of X [tokens, hidden]: X times the transposed table, which can be
/// the input embedding itself, plus a bias if `bias` names one. A table cut over the vocabulary gives
/// Sharded(1) logits. A table cut over hidden gives Partial logits, and the form of the loss decides how they
/// are summed.
TensorId vocab_logits(Builder& builder, TensorId x, const std::string& parameter, const std::string& symbol,
                      Layout layout, const std::string& bias);

/// Cross-entropy of logits [tokens, padded] against labels [tokens]: a sum weighted by token_weights
/// [tokens]. If the logits are cut over the vocabulary, three numbers per token are reduced, and none in the
/// backward pass (paper, section 3). If the logits are of the rank's own tokens, only the loss is reduced.
/// Columns from `vocab` on are padding. Returns [1].
TensorId cross_entropy(Builder& builder, Role role, TensorId logits, TensorId labels, TensorId token_weights,
                       int64_t vocab, const std::string& module, TensorId loss_scale);

/// The optimizer's steps for every parameter that has a gradient: the gradients' global norm, which counts a
/// gradient that all ranks hold only once, the factor that clips it, and AdamW on each rank's own slices.
void update(Builder& builder, TensorId loss_scale);

/// The first token of each sequence of X [tokens, hidden]: [batch, hidden].
TensorId first_token(Builder& builder, TensorId x, const std::string& value, const std::string& symbol);

/// tanh, element-wise.
TensorId tanh(Builder& builder, TensorId x, const std::string& value, const std::string& symbol);

/// The checkpoint name of a parameter of the builder's layer, in Hugging Face's words: "mlp.fc.weight" is
/// "transformer.h.0.mlp.c_fc.weight" for layer 0 of GPT-2. A parameter outside the layers keeps the name it
/// is given.
std::string parameter_name(const Builder& builder, const std::string& parameter);

}  // namespace shardlens
