// Finds special tokens in a text and reads their list.
#include "engine/train/tokenizer/special_tokens.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/config/error.h"

namespace shardlens {

SpecialTokens::SpecialTokens(std::vector<SpecialToken> tokens) : tokens_(std::move(tokens)) {
  std::stable_sort(tokens_.begin(), tokens_.end(), [](const SpecialToken& a, const SpecialToken& b) {
    return a.text.size() > b.text.size();
  });
}

const SpecialToken* SpecialTokens::find(std::string_view text) const {
  for (const SpecialToken& token : tokens_) {
    if (token.text == text) return &token;
  }
  return nullptr;
}

bool SpecialTokens::contains(int32_t id) const {
  return std::any_of(tokens_.begin(), tokens_.end(), [&](const SpecialToken& t) { return t.id == id; });
}

void SpecialTokens::split(std::string_view text, const std::function<void(std::string_view)>& on_text,
                          const std::function<void(int32_t)>& on_token) const {
  // Where each token occurs next. It is searched again only after the text has passed that place.
  std::vector<size_t> next(tokens_.size());
  for (size_t i = 0; i < tokens_.size(); ++i) next[i] = text.find(tokens_[i].text);
  size_t at = 0;
  while (true) {
    size_t first = std::string_view::npos, which = 0;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (next[i] != std::string_view::npos && next[i] < at) next[i] = text.find(tokens_[i].text, at);
      if (next[i] < first) first = next[i], which = i;
    }
    if (first == std::string_view::npos) break;
    if (first > at) on_text(text.substr(at, first - at));
    on_token(tokens_[which].id);
    at = first + tokens_[which].text.size();
  }
  if (at < text.size()) on_text(text.substr(at));
}

SpecialTokens read_added_tokens(const nlohmann::json& tokenizer_json, const std::string& source) {
  std::vector<SpecialToken> tokens;
  const auto added = tokenizer_json.find("added_tokens");
  if (added == tokenizer_json.end() || added->is_null()) return {};
  for (const nlohmann::json& token : *added) {
    const auto text = token.at("content").get<std::string>();
    for (const char* option : {"lstrip", "rstrip", "single_word"}) {
      if (token.value(option, false))
        throw request_error(
            fmt::format("{}: the added token {} sets \"{}\", which is not supported; set it to false", source,
                        text, option));
    }
    if (!text.empty()) tokens.push_back({text, token.at("id").get<int32_t>()});
  }
  return SpecialTokens(std::move(tokens));
}

}  // namespace shardlens
