// How the two model families store parameters, and how many they have.
#include "engine/planner/parameters.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "engine/planner/planner.h"

namespace shardlens {
namespace {

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// True for parameters with a row or an element for each word of the vocabulary.
bool is_over_vocabulary(const std::string& name) {
  return ends_with(name, "wte.weight") || ends_with(name, "lm_head.weight") ||
         ends_with(name, "word_embeddings.weight") || ends_with(name, "predictions.decoder.weight") ||
         ends_with(name, "predictions.bias");
}

Shape stored_shape(const Tensor& weight, const StoredPart& part) {
  if (weight.row_dims == 0) return {part.cols.size()};
  if (part.transposed) return {part.cols.size(), part.rows.size()};
  return {part.rows.size(), part.cols.size()};
}

// Calls piece(offset in the whole parameter, offset in the stored tensor, bytes) for each range of bytes that
// is contiguous in both.
template <typename Visit>
void for_each_piece(const Tensor& weight, const StoredPart& part, int64_t element_bytes, const Visit& visit) {
  const int64_t full_cols = matrix_shape(weight).cols;
  const int64_t stored_cols = part.shape.back();  // transposed: the parameter's rows
  const auto bytes = [&](int64_t elements) { return static_cast<size_t>(elements * element_bytes); };
  for (int64_t row = 0; row < part.rows.size(); ++row) {
    const int64_t from = (part.rows.begin + row) * full_cols + part.cols.begin;
    if (!part.transposed) {
      visit(bytes(from), bytes(row * stored_cols + part.stored_col), bytes(part.cols.size()));
      continue;
    }
    for (int64_t col = 0; col < part.cols.size(); ++col)
      visit(bytes(from + col), bytes((part.stored_col + col) * stored_cols + row), bytes(1));
  }
}

// Where the query, key and value columns of grouped queries are stored: BERT has a name for each, GPT-2 has
// one matrix with columns q | k | v.
std::vector<StoredPart> parts_of_grouped(const Settings& settings, StoredPart part) {
  const Model& model = settings.model;
  const int64_t queries = model.hidden, keys = model.key_heads() * model.head_dim();
  const auto renamed = [&](const std::string& from, const std::string& to) {
    StoredPart other = part;
    const size_t at = other.name.find(from);
    if (at != std::string::npos) other.name.replace(at, from.size(), to);
    return other;
  };
  if (contains(part.name, ".self.kv.")) {
    StoredPart k = renamed(".self.kv.", ".self.key."), v = renamed(".self.kv.", ".self.value.");
    k.cols = {0, keys};
    v.cols = {keys, 2 * keys};
    return {k, v};
  }
  const bool is_kv = contains(part.name, ".c_attn.kv.");
  part = renamed(is_kv ? ".c_attn.kv." : ".c_attn.q.", ".c_attn.");
  part.stored_col = is_kv ? queries : 0;
  part.shape = {part.rows.size(), queries + 2 * keys};
  return {part};
}

}  // namespace

std::vector<StoredPart> stored_parts(const Settings& settings, const Tensor& weight) {
  const MatrixShape matrix = matrix_shape(weight);
  StoredPart whole{weight.name, {}, false, {0, matrix.rows}, {0, matrix.cols}};
  if (is_over_vocabulary(weight.name)) {
    Range& words = weight.row_dims == 0 ? whole.cols : whole.rows;
    words.end = std::min(words.end, settings.model.vocab);
  }
  std::vector<StoredPart> parts;
  const bool is_bert = settings.model.architecture == Architecture::Bert;
  const bool is_embedding = contains(weight.name, "embeddings.") || contains(weight.name, "decoder.");
  whole.transposed = is_bert && weight.row_dims > 0 && !is_embedding;
  const size_t qkv = weight.name.find(".qkv.");
  if (is_bert && qkv != std::string::npos) {
    const char* names[] = {".query.", ".key.", ".value."};
    for (int64_t i = 0; i < 3; ++i) {
      StoredPart part = whole;
      part.name = weight.name;
      part.name.replace(qkv, 5, names[i]);
      part.cols = {i * matrix.cols / 3, (i + 1) * matrix.cols / 3};
      parts.push_back(part);
    }
  } else if (contains(weight.name, ".self.kv.") || contains(weight.name, ".c_attn.q.") ||
             contains(weight.name, ".c_attn.kv.")) {
    parts = parts_of_grouped(settings, whole);
  } else {
    parts.push_back(whole);
  }
  for (StoredPart& part : parts) {
    if (part.shape.empty()) part.shape = stored_shape(weight, part);
    if (weight.row_dims == 0) part.shape.erase(part.shape.begin(), part.shape.end() - 1);
  }
  return parts;
}

int64_t parameter_count(const Model& model) {
  Settings one_layer;
  one_layer.model = model;
  one_layer.model.layers = 1;
  one_layer.block = Block::Model;
  one_layer.batch = one_layer.seq = 1;
  const Program program = plan_model(one_layer, false);
  std::set<TensorId> of_layer;
  for (const Step& step : program.steps)
    if (step.layer >= 0) of_layer.insert(step.inputs.begin(), step.inputs.end());
  int64_t count = 0;
  for (const Tensor& tensor : program.tensors) {
    if (tensor.kind != MemoryKind::Weight || tensor.storage != kNoTensor) continue;
    for (const StoredPart& part : stored_parts(program.settings, tensor))
      count += (of_layer.count(tensor.id) > 0 ? model.layers : 1) * part.rows.size() * part.cols.size();
  }
  return count;
}

std::string second_name(const Settings& settings, const std::string& name) {
  return !settings.model.tied && name == kHeadBias ? kDecoderBias : "";
}

void take_part(const Tensor& weight, const StoredPart& part, const std::byte* whole, int64_t element_bytes,
               std::byte* stored) {
  for_each_piece(weight, part, element_bytes, [&](size_t in_whole, size_t in_stored, size_t bytes) {
    std::memcpy(stored + in_stored, whole + in_whole, bytes);
  });
}

void put_part(const Tensor& weight, const StoredPart& part, const std::byte* stored, int64_t element_bytes,
              std::byte* whole) {
  for_each_piece(weight, part, element_bytes, [&](size_t in_whole, size_t in_stored, size_t bytes) {
    std::memcpy(whole + in_whole, stored + in_stored, bytes);
  });
}

}  // namespace shardlens
