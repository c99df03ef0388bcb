// A checkpoint's weights under the names of stored_parts(). It also reads files that store the masked-word
// bias beside its decoder, and files that were saved without the encoder's heads. (SafetensorsFile handles
// prefixes and older names.)
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

  /// False for a parameter of a head of which the file has nothing; such a head starts seeded.
  bool has(const Tensor& weight) const;
  /// Returns the tensor that holds `part`. Throws a request Error if the tensor is missing or has another
  /// shape or type.
  const StoredTensor& require(const StoredPart& part) const;
  const SafetensorsFile& file() const { return file_; }

  /// The heads of which the file has nothing, as words: "pooler", "masked-word head", "sentence head".
  std::vector<std::string> missing_heads() const;

 private:
  SafetensorsFile file_;
  std::vector<std::string> missing_;  ///< prefixes of their parameters' names
};

/// The heads of the settings' model that start seeded because the weights file has nothing of them; opens the
/// file. Empty if there is no file.
std::vector<std::string> seeded_heads(const Settings& settings);

}  // namespace shardlens
