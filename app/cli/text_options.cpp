// Finds a model's tokenizer.
#include "app/cli/text_options.h"

#include "engine/config/presets.h"

namespace shardlens::cli {

std::shared_ptr<const Tokenizer> tokenizer_for(const std::string& model, const std::string& tokenizer) {
  if (!tokenizer.empty()) return load_tokenizer(tokenizer);
  const std::string folder = folder_of_model(model);
  return load_tokenizer(folder.empty() ? "bytes" : folder);
}

}  // namespace shardlens::cli
