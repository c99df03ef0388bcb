// The names of stored weights and their variants.
#include "engine/runtime/stored_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/shown.h"
#include "engine/config/forms.h"
#include "engine/io/safetensors_index.h"
#include "engine/planner/planner.h"

namespace shardlens {
namespace {

// BERT's heads: the prefix of their parameters' names, and the words for them in messages.
const std::vector<std::pair<std::string, std::string>> kHeads = {{"bert.pooler.", "pooler"},
                                                                 {"cls.predictions.", "masked-word head"},
                                                                 {"cls.seq_relationship.", "sentence head"}};

// Names of this many tensors are shown.
constexpr size_t kShownNames = 4;

bool has_any(const SafetensorsFile& file, const std::string& prefix) {
  const std::string bare = prefix.starts_with("bert.") ? prefix.substr(5) : prefix;
  return std::any_of(file.tensors().begin(), file.tensors().end(), [&](const StoredTensor& tensor) {
    return tensor.name.starts_with(prefix) || tensor.name.starts_with(bare);
  });
}

// Masks and positions that older versions of transformers stored beside the weights. They hold no weights.
bool is_buffer(const std::string& name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") ||
         name.ends_with("position_ids");
}

// The names of all stored tensors of a model. They come from the Program of one layer, so that they are
// written down in one place only.
std::set<std::string> stored_names(const Model& model) {
  Settings one_layer;
  one_layer.model = model;
  one_layer.model.layers = 1;
  one_layer.tp = 1;
  one_layer.batch = one_layer.seq = 1;
  const Program program = plan_evaluation(one_layer);
  const std::string of_layers = std::string(form_of(model).layers) + ".";
  const std::string of_first = of_layers + "0.";
  std::set<std::string> names;
  for (const Tensor& tensor : program.tensors) {
    if (tensor.kind != MemoryKind::Weight) continue;
    for (const StoredPart& part : stored_parts(program.settings, tensor)) {
      if (!part.name.starts_with(of_first)) {
        names.insert(part.name);
        continue;
      }
      for (int64_t layer = 0; layer < model.layers; ++layer)
        names.insert(fmt::format("{}{}.{}", of_layers, layer, part.name.substr(of_first.size())));
    }
  }
  return names;
}

}  // namespace

StoredWeights::StoredWeights(const std::string& path, const Settings& settings)
    : file_(path), model_(settings.model) {
  if (settings.model.objective != Objective::MaskedWords) return;
  for (const auto& [prefix, words] : kHeads) {
    if (!has_any(file_, prefix)) missing_.push_back(prefix);
  }
}

bool StoredWeights::has(const Tensor& weight) const {
  return std::none_of(missing_.begin(), missing_.end(),
                      [&](const std::string& prefix) { return weight.name.starts_with(prefix); });
}

const StoredTensor* StoredWeights::find(const std::string& part_name) const {
  if (part_name == kHeadBias) {
    if (const StoredTensor* const added = file_.find(kDecoderBias)) return added;
  }
  const StoredTensor* const found = file_.find(part_name);
  // Of two tied tensors a program may have stored only the one whose name comes first.
  const bool may_be_head = found == nullptr && model_.tied && part_name == form_of(model_).token_table;
  return may_be_head ? file_.find(form_of(model_).head) : found;
}

const StoredTensor& StoredWeights::require(const StoredPart& part) const {
  const StoredTensor* const found = find(part.name);
  return file_.require(found == nullptr ? part.name : found->name, part.shape);
}

std::vector<std::string> StoredWeights::missing_heads() const {
  std::vector<std::string> words;
  for (const auto& [prefix, word] : kHeads) {
    if (std::find(missing_.begin(), missing_.end(), prefix) != missing_.end()) words.push_back(word);
  }
  return words;
}

bool StoredWeights::is_same(const std::string& a, const std::string& b) const {
  const StoredTensor &one = *file_.find(a), &other = *file_.find(b);
  if (one.shape != other.shape) return false;
  constexpr int64_t kAtATime = 1 << 18;
  const int64_t count = element_count(one.shape);
  std::vector<double> of_one, of_other;
  for (int64_t done = 0; done < count; done += kAtATime) {
    const Range range{done, std::min(done + kAtATime, count)};
    of_one.resize(static_cast<size_t>(range.size()));
    of_other.resize(static_cast<size_t>(range.size()));
    file_.read(one, {count}, {range}, DType::Fp64, of_one.data());
    file_.read(other, {count}, {range}, DType::Fp64, of_other.data());
    if (of_one != of_other) return false;
  }
  return true;
}

bool StoredWeights::has_untied_head() const {
  const std::string embedding = form_of(model_).token_table, head = form_of(model_).head;
  return model_.tied && file_.find(embedding) != nullptr && file_.find(head) != nullptr &&
         !is_same(embedding, head);
}

std::vector<std::string> StoredWeights::unread() const {
  std::set<std::string> read;
  for (const std::string& name : stored_names(model_)) {
    if (const StoredTensor* const tensor = find(name)) read.insert(tensor->name);
  }
  // A copy of a tensor that is read says nothing new.
  for (const auto& [name, other] :
       {std::pair<std::string, std::string>{form_of(model_).token_table, form_of(model_).head},
        {kHeadBias, kDecoderBias}}) {
    const StoredTensor *const one = file_.find(name), *const two = file_.find(other);
    if (one == nullptr || two == nullptr || read.count(one->name) + read.count(two->name) != 1) continue;
    if (is_same(name, other)) read.insert({one->name, two->name});
  }
  std::vector<std::string> unread;
  for (const StoredTensor& tensor : file_.tensors())
    if (read.count(tensor.name) == 0 && !is_buffer(tensor.name)) unread.push_back(tensor.name);
  std::sort(unread.begin(), unread.end());
  return unread;
}

std::vector<std::string> fit_to_weights(Settings& settings) {
  std::vector<std::string> remarks;
  const std::string& path = settings.weights_path;
  if (path.empty()) return remarks;
  if (StoredWeights(path, settings).has_untied_head()) {
    settings.model.tied = false;
    remarks.push_back(fmt::format(
        "{}: {} differs from {}, though the model's configuration ties them: it is used as it is, "
        "not tied, as in transformers",
        path, form_of(settings.model).head, form_of(settings.model).token_table));
  }
  if (std::error_code unknown; std::filesystem::exists(index_path(path), unknown))
    remarks.push_back(
        fmt::format("{} is read; {} and the files that it names are not", path, index_path(path)));
  const StoredWeights weights(path, settings);
  const std::vector<std::string> heads = weights.missing_heads();
  if (settings.block == Block::Model && !heads.empty())
    remarks.push_back(
        fmt::format("{} has no {}: they start from --seed instead", path, fmt::join(heads, ", no ")));
  const std::vector<std::string> unread = weights.unread();
  if (unread.empty()) return remarks;
  const size_t named = unread.size() <= kShownNames + 1 ? unread.size() : kShownNames;
  std::vector<std::string> names;
  for (size_t i = 0; i < named; ++i) names.push_back(shown(unread[i]));
  remarks.push_back(
      fmt::format("{}: {} of its {} tensors {} not read, because the model has no place for {}: {}{}", path,
                  unread.size(), weights.file().tensors().size(), unread.size() == 1 ? "is" : "are",
                  unread.size() == 1 ? "it" : "them", fmt::join(names, ", "),
                  named < unread.size() ? fmt::format(" and {} more", unread.size() - named) : ""));
  return remarks;
}

void require_fitted(const StoredWeights& weights) {
  if (!weights.has_untied_head()) return;
  throw request_error(fmt::format(
      "{} holds an output matrix that differs from the embedding, but the settings tie them. Open "
      "the model anew from its folder: then it is not tied, as in transformers",
      weights.file().path()));
}

}  // namespace shardlens
