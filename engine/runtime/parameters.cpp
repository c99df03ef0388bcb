// The two families' habits of storing parameters.
#include "engine/runtime/parameters.h"

#include <algorithm>
#include <cstring>

namespace shardlens {
namespace {

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Parameters with a row or an element per word of the vocabulary.
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
  } else {
    parts.push_back(whole);
  }
  for (StoredPart& part : parts) part.shape = stored_shape(weight, part);
  return parts;
}

std::vector<std::byte> take_part(const Tensor& weight, const StoredPart& part, const std::byte* whole,
                                 int64_t element_bytes) {
  const int64_t full_cols = matrix_shape(weight).cols;
  const int64_t rows = part.rows.size(), cols = part.cols.size();
  const auto element = static_cast<size_t>(element_bytes);
  std::vector<std::byte> taken(static_cast<size_t>(rows * cols) * element);
  for (int64_t row = 0; row < rows; ++row) {
    const std::byte* from =
        whole + static_cast<size_t>((part.rows.begin + row) * full_cols + part.cols.begin) * element;
    if (!part.transposed) {
      std::memcpy(taken.data() + static_cast<size_t>(row * cols) * element, from,
                  static_cast<size_t>(cols) * element);
      continue;
    }
    for (int64_t col = 0; col < cols; ++col)
      std::memcpy(taken.data() + static_cast<size_t>(col * rows + row) * element,
                  from + static_cast<size_t>(col) * element, element);
  }
  return taken;
}

void put_part(const Tensor& weight, const StoredPart& part, const std::byte* stored, int64_t element_bytes,
              std::byte* whole) {
  const int64_t full_cols = matrix_shape(weight).cols;
  const int64_t rows = part.rows.size(), cols = part.cols.size();
  const auto element = static_cast<size_t>(element_bytes);
  for (int64_t row = 0; row < rows; ++row) {
    std::byte* to =
        whole + static_cast<size_t>((part.rows.begin + row) * full_cols + part.cols.begin) * element;
    if (!part.transposed) {
      std::memcpy(to, stored + static_cast<size_t>(row * cols) * element,
                  static_cast<size_t>(cols) * element);
      continue;
    }
    for (int64_t col = 0; col < cols; ++col)
      std::memcpy(to + static_cast<size_t>(col) * element,
                  stored + static_cast<size_t>(col * rows + row) * element, element);
  }
}

}  // namespace shardlens
