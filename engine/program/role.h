// What a tensor is in its model, and which part of the model a step belongs to. The planner writes both, and
// recordings keep them. Everybody else asks for them: names and symbols are for the eye and for files, and no
// code outside the planner compares them (a test says so).
#pragma once

#include <string>

namespace shardlens {

/// A gradient has the role of its parameter, and every form of a value that of the value; their MemoryKind
/// and Layout tell them apart. "Bias" is what a product adds.
enum class Role {
  None,  ///< an intermediate value that nobody asks for
  // Parameters.
  TokenTable,     ///< [vocab, hidden]; tied, it is the head too
  PositionTable,  ///< [positions, hidden]
  TypeTable,      ///< BERT: [2, hidden]
  NormGain,
  NormShift,
  Qkv,  ///< queries, keys and values in one matrix
  QkvBias,
  Query,
  QueryBias,
  KeyValue,
  KeyValueBias,
  AttentionOut,
  AttentionOutBias,
  MlpIn,
  MlpInBias,
  MlpOut,
  MlpOutBias,
  Head,  ///< [vocab, hidden], where it is a matrix of its own
  HeadBias,
  HeadTransform,  ///< BERT: the product before the head
  HeadTransformBias,
  Pooler,
  PoolerBias,
  SentenceHead,
  SentenceHeadBias,
  // What the optimizer keeps.
  FirstMoment,
  SecondMoment,
  Master,  ///< the fp32 copy of a 16-bit parameter
  // Inputs.
  LayerInput,      ///< X of a layer alone
  OutputGradient,  ///< the gradient that arrives from the next layer
  Tokens,
  Positions,
  TokenTypes,
  AttentionMask,
  Labels,
  TokenWeights,
  SentenceLabels,
  SentenceWeights,
  LossScale,
  LastRows,  ///< generation: the rows of the sequences' last tokens
  // Values and results.
  QueriesKeysValues,  ///< what the product with Qkv gives: [tokens, 3, heads, head width]
  KeysValues,         ///< what the product with KeyValue gives: [tokens, 2, key heads, head width]
  Probabilities,      ///< attention's, [tokens, heads, tokens]
  Context,            ///< attention's, [tokens, heads, head width]: before the output product
  Hidden,             ///< of the last layer, after the last norm
  Logits,
  SentenceLogits,
  RowMaximum,   ///< of a token's logits
  TargetLogit,  ///< a token's logit at its label
  WordLoss,     ///< BERT: of the masked words of a part of the batch
  SentenceLoss,
  Loss,  ///< of the whole batch, or of a part of it
  ClipFactor,
};
std::string to_string(Role role);  ///< "token table"
Role parse_role(const std::string& text);

/// The part of a model.
enum class Part { None, Embedding, Norm, Attention, Mlp, Residual, Loss, Gradients, Replicas, Optimizer };
std::string to_string(Part part);  ///< "embedding", "mlp"; "" for None
Part parse_part(const std::string& text);

}  // namespace shardlens
