// A checkpoint's weights under the names of stored_parts(), also where the file keeps the masked-word bias
// beside its decoder, or was saved without the encoder's heads. (Prefixes and older names are
// SafetensorsFile's.)
#pragma once

#include <string>
#include <vector>

#include "engine/io/safetensors.h"
#include "engine/runtime/parameters.h"

namespace shardlens {

class StoredWeights {
 public:
  /// Opens the file; throws what SafetensorsFile throws.
  StoredWeights(const std::string& path, const Settings& settings);

  /// False for a parameter of a head the file has nothing of; such a head starts seeded.
  bool has(const Tensor& weight) const;
  /// The tensor that holds `part`. Throws a request Error for a missing tensor or another shape or type.
  const StoredTensor& require(const StoredPart& part) const;
  const SafetensorsFile& file() const { return file_; }

  /// The heads the file has nothing of, in words: "pooler", "masked-word head", "sentence head".
  std::vector<std::string> missing_heads() const;

 private:
  SafetensorsFile file_;
  std::vector<std::string> missing_;  ///< prefixes of their parameters' names
};

/// The heads of settings' model that start seeded because its weights file has nothing of them; opens the
/// file. Empty without a file.
std::vector<std::string> seeded_heads(const Settings& settings);

}  // namespace shardlens
