// A checkpoint's weights under the names of stored_parts(). It also reads files that name the output matrix
// and its bias in other ways, and files that were saved without the encoder's heads. (SafetensorsFile handles
// shards, prefixes and older names.) It also lists the tensors of the file that are not read.
#pragma once

#include <string>
#include <vector>

#include "engine/io/safetensors.h"
#include "engine/planner/parameters.h"

namespace shardlens {

class StoredWeights {
 public:
  /// Opens the file, or an index and its files; throws what SafetensorsFile throws.
  StoredWeights(const std::string& path, const Settings& settings);

  /// False for a parameter of a head of which the file has nothing; such a head starts seeded.
  bool has(const Tensor& weight) const;
  /// Returns the tensor that holds `part`. Throws a request Error if the tensor is missing or has another
  /// shape or type.
  const StoredTensor& require(const StoredPart& part) const;
  const SafetensorsFile& file() const { return file_; }

  /// The heads of which the file has nothing, as words: "pooler", "masked-word head", "sentence head".
  std::vector<std::string> missing_heads() const;

  /// True if the settings tie the output matrix to the embedding, but the file holds both and they differ.
  /// The model that was saved is then not tied, and transformers does not tie it either. Reads both tensors.
  bool has_untied_head() const;

  /// The tensors for which the model has no place, in the order of their names. Buffers that hold no weights
  /// and copies of tied weights are left out.
  std::vector<std::string> unread() const;

 private:
  const StoredTensor* find(const std::string& part_name) const;
  bool is_same(const std::string& a, const std::string& b) const;

  SafetensorsFile file_;
  const Model model_;
  std::vector<std::string> missing_;  ///< prefixes of their parameters' names
};

/// Makes the settings' model the one that the weights file holds: not tied if has_untied_head(). Returns what
/// a person should know about the file, a sentence each: that, heads that start seeded, tensors that are not
/// read. Empty if there is no file. Throws what StoredWeights throws.
std::vector<std::string> fit_to_weights(Settings& settings);

/// Throws a request Error if the settings' model is tied but has_untied_head(): fit_to_weights() was not
/// called, and the numbers would be another model's.
void require_fitted(const StoredWeights& weights);

}  // namespace shardlens
