// Finds a model's tokenizer.
#include "app/cli/text_options.h"

#include <filesystem>

namespace shardlens::cli {

std::shared_ptr<const Tokenizer> tokenizer_for(const std::string& model, const std::string& tokenizer) {
  if (!tokenizer.empty()) return load_tokenizer(tokenizer);
  return load_tokenizer(std::filesystem::is_directory(model) ? model : "bytes");
}

}  // namespace shardlens::cli
