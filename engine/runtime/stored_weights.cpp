// The names of stored weights and their variants.
#include "engine/runtime/stored_weights.h"

#include <algorithm>
#include <utility>

namespace shardlens {
namespace {

// BERT's heads: the prefix of their parameters' names, and the words for them in messages.
const std::vector<std::pair<std::string, std::string>> kHeads = {{"bert.pooler.", "pooler"},
                                                                 {"cls.predictions.", "masked-word head"},
                                                                 {"cls.seq_relationship.", "sentence head"}};

bool has_any(const SafetensorsFile& file, const std::string& prefix) {
  const std::string bare = prefix.starts_with("bert.") ? prefix.substr(5) : prefix;
  return std::any_of(file.tensors().begin(), file.tensors().end(), [&](const StoredTensor& tensor) {
    return tensor.name.starts_with(prefix) || tensor.name.starts_with(bare);
  });
}

}  // namespace

StoredWeights::StoredWeights(const std::string& path, const Settings& settings) : file_(path) {
  if (settings.model.architecture != Architecture::Bert) return;
  for (const auto& [prefix, words] : kHeads) {
    if (!has_any(file_, prefix)) missing_.push_back(prefix);
  }
}

bool StoredWeights::has(const Tensor& weight) const {
  return std::none_of(missing_.begin(), missing_.end(),
                      [&](const std::string& prefix) { return weight.name.starts_with(prefix); });
}

const StoredTensor& StoredWeights::require(const StoredPart& part) const {
  constexpr const char* kBesideDecoder = "cls.predictions.decoder.bias";
  const bool beside_decoder = part.name == "cls.predictions.bias" && file_.find(part.name) == nullptr &&
                              file_.find(kBesideDecoder) != nullptr;
  if (beside_decoder) return file_.require(kBesideDecoder, part.shape);
  return file_.require(part.name, part.shape);
}

std::vector<std::string> StoredWeights::missing_heads() const {
  std::vector<std::string> words;
  for (const auto& [prefix, word] : kHeads) {
    if (std::find(missing_.begin(), missing_.end(), prefix) != missing_.end()) words.push_back(word);
  }
  return words;
}

std::vector<std::string> seeded_heads(const Settings& settings) {
  if (settings.weights_path.empty()) return {};
  return StoredWeights(settings.weights_path, settings).missing_heads();
}

}  // namespace shardlens
