// The words of roles and parts.
#include "engine/program/role.h"

#include "engine/base/words.h"

namespace shardlens {
namespace {

constexpr Word<Role> kRoleWords[] = {{Role::None, "none"},
                                     {Role::TokenTable, "token table"},
                                     {Role::PositionTable, "position table"},
                                     {Role::TypeTable, "token type table"},
                                     {Role::NormGain, "norm gain"},
                                     {Role::NormShift, "norm shift"},
                                     {Role::Qkv, "query, key and value"},
                                     {Role::QkvBias, "query, key and value bias"},
                                     {Role::Query, "query"},
                                     {Role::QueryBias, "query bias"},
                                     {Role::KeyValue, "key and value"},
                                     {Role::KeyValueBias, "key and value bias"},
                                     {Role::AttentionOut, "attention output"},
                                     {Role::AttentionOutBias, "attention output bias"},
                                     {Role::MlpIn, "mlp in"},
                                     {Role::MlpInBias, "mlp in bias"},
                                     {Role::MlpOut, "mlp out"},
                                     {Role::MlpOutBias, "mlp out bias"},
                                     {Role::Head, "head"},
                                     {Role::HeadBias, "head bias"},
                                     {Role::HeadTransform, "head transform"},
                                     {Role::HeadTransformBias, "head transform bias"},
                                     {Role::Pooler, "pooler"},
                                     {Role::PoolerBias, "pooler bias"},
                                     {Role::SentenceHead, "sentence head"},
                                     {Role::SentenceHeadBias, "sentence head bias"},
                                     {Role::FirstMoment, "first moment"},
                                     {Role::SecondMoment, "second moment"},
                                     {Role::Master, "master"},
                                     {Role::LayerInput, "layer input"},
                                     {Role::OutputGradient, "output gradient"},
                                     {Role::Tokens, "tokens"},
                                     {Role::Positions, "positions"},
                                     {Role::TokenTypes, "token types"},
                                     {Role::AttentionMask, "attention mask"},
                                     {Role::Labels, "labels"},
                                     {Role::TokenWeights, "token weights"},
                                     {Role::SentenceLabels, "sentence labels"},
                                     {Role::SentenceWeights, "sentence weights"},
                                     {Role::LossScale, "loss scale"},
                                     {Role::LastRows, "last rows"},
                                     {Role::QueriesKeysValues, "queries, keys and values"},
                                     {Role::KeysValues, "keys and values"},
                                     {Role::Probabilities, "probabilities"},
                                     {Role::Context, "context"},
                                     {Role::Hidden, "hidden"},
                                     {Role::Logits, "logits"},
                                     {Role::SentenceLogits, "sentence logits"},
                                     {Role::RowMaximum, "row maximum"},
                                     {Role::TargetLogit, "target logit"},
                                     {Role::WordLoss, "word loss"},
                                     {Role::SentenceLoss, "sentence loss"},
                                     {Role::Loss, "loss"},
                                     {Role::ClipFactor, "clip factor"}};

constexpr Word<Part> kPartWords[] = {{Part::None, ""},
                                     {Part::Embedding, "embedding"},
                                     {Part::Norm, "norm"},
                                     {Part::Attention, "attention"},
                                     {Part::Mlp, "mlp"},
                                     {Part::Residual, "residual"},
                                     {Part::Loss, "loss"},
                                     {Part::Gradients, "gradients"},
                                     {Part::Replicas, "replicas"},
                                     {Part::Optimizer, "optimizer"}};

}  // namespace

std::string to_string(Role role) {
  return word_of(kRoleWords, role);
}
Role parse_role(const std::string& text) {
  return parse_word(kRoleWords, "role", text);
}
std::string to_string(Part part) {
  return word_of(kPartWords, part);
}
Part parse_part(const std::string& text) {
  return parse_word(kPartWords, "part", text);
}

}  // namespace shardlens
