// The pieces a transformer layer is planned from. Each takes tensors and yields tensors, states which layouts
// its operations accept, and leaves its backward pass on the builder's tape. None of them writes a
// collective.
#pragma once

#include <string>

#include "engine/config/presets.h"
#include "engine/planner/builder.h"

namespace shardlens {

/// How X, the residual stream [tokens, hidden] and all that works on it lie between the blocks: Replicated,
/// Sharded(1) over hidden or Sharded(0) over the tokens, as the split's `norm` says.
Layout stream_layout(const Settings& settings);

/// What a linear layer under `cut` reads its X in, and so what an earlier sum may go to straight away.
Layout linear_input(const Settings& settings, Cut cut);

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
  /// How the slices lie along the dimension that is cut, whichever that is: padded, or with copies.
  Layout slices = sharded(0);
};

/// Y = X·W + b for X [tokens, in...]. Column: X Replicated, Y Sharded, bias sliced with W and added locally.
/// Row: X Sharded, X·W Partial, converted to `after_row` and only then given its bias.
/// Replicated: X Replicated or, where the stream is cut over the tokens, Sharded(0), and Y as X.
TensorId linear(Builder& builder, TensorId x, const LinearNames& names, const LinearShape& shape, Cut cut,
                Layout after_row = kReplicated);

/// linear() in its two halves, for products that read the same X, an operand(): X as a product under `cut`
/// reads it, with its f (`row_layout`: of a row cut), and the product of it.
TensorId linear_operand(Builder& builder, TensorId x, Cut cut, Layout row_layout);
TensorId linear_product(Builder& builder, TensorId x, const LinearNames& names, const LinearShape& shape,
                        Cut cut, Layout after_row = kReplicated);

/// GeLU, element-wise: Replicated or Sharded, never Partial.
TensorId gelu(Builder& builder, TensorId x, const std::string& value, const std::string& symbol);

/// LayerNorm over the last dimension, of the stream and in its layout: a token's numbers are whole on one
/// rank, or, cut over hidden, meet as two sums a token, of x and of x², and of two more in the backward pass.
TensorId layer_norm(Builder& builder, TensorId x, const std::string& module, const std::string& parameters,
                    const std::string& symbol);

/// x + y, both in the layout of x.
TensorId residual(Builder& builder, TensorId x, TensorId y, const std::string& value,
                  const std::string& symbol);

/// Which keys a token may see beside what the model says, the same in every layer. Int32 [tokens] each.
struct Visibility {
  TensorId mask = kNoTensor;  ///< 0 at keys nobody may see
  /// Of a pass of generation: each token's place in its sequence. Its key and value are kept there, and it
  /// sees the cache up to it.
  TensorId positions = kNoTensor;
};

/// What attention reads: QKV [tokens, 3, heads, head_dim], or, of grouped queries, Q [tokens, units, heads of
/// one, head_dim] (HeadsCut) and KV [tokens, 2, key heads, head_dim].
struct AttentionInput {
  TensorId q = kNoTensor;  ///< QKV where there is no KV
  TensorId kv = kNoTensor;
};

/// softmax(Q·Kᵀ/√d)·V, Replicated or Sharded(heads); yields [tokens, heads, head_dim], of grouped queries in
/// the shape of Q. Key heads are sliced with the query heads, held in copies, or whole beside sliced query
/// heads: then each rank has a term of their gradient. What is cut over the tokens is exchanged for a cut
/// over the heads. With a cache, K and V are those of all tokens so far, each rank's own heads.
TensorId attention_core(Builder& builder, AttentionInput in, const Visibility& visible = {});

/// The MLP block of the paper's Figure 3a; the output is [tokens, hidden] in the stream's layout.
TensorId mlp(Builder& builder, TensorId x, const std::string& out_symbol);

/// The self-attention block of Figure 3b; the output is [tokens, hidden] in the stream's layout.
TensorId attention(Builder& builder, TensorId x, const std::string& out_symbol,
                   const Visibility& visible = {});

/// One transformer layer on X [tokens, hidden], pre-LN or post-LN as the model says.
TensorId transformer_layer(Builder& builder, TensorId x, const Visibility& visible = {});

/// Zeros with the settings' probability, scaled so that the mean stays; `x` itself when there is none. The
/// mask is drawn by global element from the stream of `value`'s name, so it is the same on every rank that
/// holds the element and does not depend on T.
TensorId dropout(Builder& builder, TensorId x, const std::string& value, const std::string& symbol);

/// Rows of a table [rows, hidden] by id [tokens], Int32. With the table cut over its rows the output is
/// Partial: a rank writes zeros for rows it does not own (paper, section 3); cut over hidden it is
/// Sharded(1). A whole table read by the rank's own tokens yields Sharded(0). The output is converted to the
/// stream's layout. The row of `no_gradient_id` gets no gradient from lookups.
TensorId embedding(Builder& builder, TensorId ids, const std::string& module, const std::string& parameter,
                   const std::string& weight_symbol, const std::string& out_symbol, int64_t rows,
                   Layout layout, int64_t no_gradient_id = -1);

/// The T the vocabulary is padded for.
int vocab_ranks(const Settings& settings);

/// The logits [tokens, padded vocabulary] of X [tokens, hidden]: X times the transposed table, which may be
/// the input embedding itself, plus a bias where `bias` names one. A table cut over the vocabulary yields
/// them Sharded(1), one cut over hidden leaves them Partial: the loss decides what that sum goes to.
TensorId vocab_logits(Builder& builder, TensorId x, const std::string& parameter, const std::string& symbol,
                      Layout layout, const std::string& bias);

/// Cross-entropy of logits [tokens, padded] against labels [tokens], a sum weighted by token_weights
/// [tokens]: three numbers a token are reduced when the logits are cut over the vocabulary, and nothing in
/// the backward pass (paper, section 3). Logits of the rank's own tokens need no reduction but the loss's.
/// Columns from `vocab` on are padding. Yields [1].
TensorId cross_entropy(Builder& builder, TensorId logits, TensorId labels, TensorId token_weights,
                       int64_t vocab, const std::string& module, TensorId loss_scale);

/// The optimizer's steps for every parameter that has a gradient: the gradients' global norm, which counts
/// what all ranks hold alike once, the factor that clips it, and AdamW on each rank's own slices.
void update(Builder& builder, TensorId loss_scale);

/// The first token of each sequence of X [tokens, hidden]: [batch, hidden].
TensorId first_token(Builder& builder, TensorId x, const std::string& value, const std::string& symbol);

/// tanh, element-wise.
TensorId tanh(Builder& builder, TensorId x, const std::string& value, const std::string& symbol);

/// The checkpoint name of a parameter of the builder's layer, in Hugging Face's words: "mlp.fc.weight" is
/// "transformer.h.0.mlp.c_fc.weight" for layer 0 of GPT-2. What stands outside the layers has the name it is
/// given.
std::string parameter_name(const Builder& builder, const std::string& parameter);

}  // namespace shardlens
