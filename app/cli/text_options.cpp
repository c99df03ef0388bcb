// Finds a model's tokenizer, and says what of a text was changed or not read.
#include "app/cli/text_options.h"

#include <fmt/format.h>

#include <utility>

#include "app/command_line/messages.h"
#include "engine/config/presets.h"
#include "engine/io/hidden_path.h"
#include "engine/train/checkpoint.h"
#include "engine/train/tokenizer/clean_text.h"

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

TextsForModel::TextsForModel(const std::string& model, bool asked_to_clean) : cleans_(asked_to_clean) {
  const std::string folder = folder_of_model(model);
  cleans_ = cleans_ || (!folder.empty() && is_checkpoint(folder));
}

std::string TextsForModel::read(const std::string& text) {
  std::string cleaned = clean_text(text);
  unclean_ = unclean_ || cleaned != text;
  return cleans_ ? std::move(cleaned) : text;
}

void TextsForModel::say_changes(const std::string& where) const {
  if (!unclean_) return;
  constexpr const char* kWhat =
      "line ends other than LF, byte-order marks, control characters, bytes that are not UTF-8, letters "
      "beside their accents";
  say(cleans_ ? fmt::format("{} was cleaned as data and train clean a text: {}", where, kWhat)
              : fmt::format("{} is read as it is, as other programs read it. data and train would clean it "
                            "({}); --clean does the same here",
                            where, kWhat));
}

void say_left_out(const std::vector<std::string>& left_out) {
  for (const std::string& sentence : left_out) say(sentence);
}

}  // namespace shardlens::cli
