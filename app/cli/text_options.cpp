// Finds a model's tokenizer, and says what of a text was not read.
#include "app/cli/text_options.h"

#include "app/command_line/messages.h"
#include "engine/config/presets.h"
#include "engine/io/hidden_path.h"

namespace shardlens::cli {

void say_hidden_tokenizer(const std::string& tokenizer) {
  const std::string hidden = hidden_path_remark(tokenizer, {"bytes"}, "the built-in tokenizer");
  if (!hidden.empty()) say(hidden);
}

std::shared_ptr<const Tokenizer> tokenizer_for(const std::string& model, const std::string& tokenizer) {
  say_hidden_tokenizer(tokenizer);
  if (!tokenizer.empty()) return load_tokenizer(tokenizer);
  const std::string folder = folder_of_model(model);
  return load_tokenizer(folder.empty() ? "bytes" : folder);
}

void say_left_out(const std::vector<std::string>& left_out) {
  for (const std::string& sentence : left_out) say(sentence);
}

}  // namespace shardlens::cli
