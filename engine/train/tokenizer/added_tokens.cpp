// Finds added tokens in a text and reads their list.
#include "engine/train/tokenizer/added_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "engine/base/error.h"
#include "engine/base/shown.h"

namespace shardlens {
namespace {

void split_at(const TokenTrie& tokens, std::string_view text,
              const std::function<void(std::string_view)>& on_text,
              const std::function<void(int32_t)>& on_token) {
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const TokenTrie::Match match = tokens.longest(text.substr(at));
    if (match.length == 0) {
      ++at;
      continue;
    }
    if (at > begin) on_text(text.substr(begin, at - begin));
    on_token(match.id);
    begin = at += match.length;
  }
  if (begin < text.size()) on_text(text.substr(begin));
}

AddedToken read_token(const nlohmann::json& json, const std::string& where) {
  ObjectReader reader(json, where);
  AddedToken token;
  token.text = reader.string("content");
  token.id = read_token_id(reader.child("id"), token.text, where);
  token.special = reader.boolean("special");
  token.normalized = reader.boolean("normalized");
  for (const char* option : {"lstrip", "rstrip", "single_word"}) {
    if (reader.boolean_or(option, false))
      throw request_error(
          fmt::format("{}: the added token {} sets \"{}\", which is not supported; set it to false", where,
                      shown(token.text), option));
  }
  return token;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, Normalize normalize, const std::string& source)
    : tokens_(std::move(tokens)), normalize_(std::move(normalize)) {
  std::stable_sort(tokens_.begin(), tokens_.end(),
                   [](const AddedToken& a, const AddedToken& b) { return a.text.size() > b.text.size(); });
  std::vector<std::pair<std::string, int32_t>> literal, normalized;
  std::unordered_set<std::string> forms;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const AddedToken& token = tokens_[i];
    by_id_.emplace(token.id, i);
    std::string form = token.normalized && normalize_ ? normalize_(token.text) : token.text;
    // A form that is empty is nowhere in a text.
    if (form.empty() || (token.normalized && !forms.insert(form).second)) continue;
    (token.normalized ? normalized : literal).emplace_back(std::move(form), token.id);
  }
  literal_ = TokenTrie(literal, source);
  normalized_ = TokenTrie(normalized, source);
}

const AddedToken* AddedTokens::find(std::string_view text) const {
  const auto found =
      std::find_if(tokens_.begin(), tokens_.end(), [&](const AddedToken& t) { return t.text == text; });
  return found == tokens_.end() ? nullptr : &*found;
}

const AddedToken* AddedTokens::find(int32_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

std::string AddedTokens::decoded(const AddedToken& token) const {
  if (token.special) return {};
  return token.normalized && normalize_ ? normalize_(token.text) : token.text;
}

void AddedTokens::split(std::string_view text, const std::function<void(std::string_view)>& on_text,
                        const std::function<void(int32_t)>& on_token) const {
  const auto on_part = [&](std::string_view part) {
    if (!normalize_) return split_at(normalized_, part, on_text, on_token);
    split_at(normalized_, normalize_(part), on_text, on_token);
  };
  split_at(literal_, text, on_part, on_token);
}

AddedTokens read_added_tokens(ObjectReader& tokenizer_json, const Vocabulary& vocabulary,
                              AddedTokens::Normalize normalize) {
  const std::string& source = tokenizer_json.where();
  std::vector<AddedToken> tokens;
  if (tokenizer_json.has("added_tokens") && !tokenizer_json.child("added_tokens").is_null()) {
    const nlohmann::json& list = tokenizer_json.child("added_tokens");
    if (!list.is_array())
      throw request_error(fmt::format("{}: \"added_tokens\" must be a list of objects", source));
    std::unordered_set<int32_t> taken;
    for (const auto& [token, id] : vocabulary) taken.insert(id);
    std::unordered_set<std::string> texts;
    int64_t next = static_cast<int64_t>(vocabulary.size());
    for (size_t i = 0; i < list.size(); ++i) {
      const std::string where = fmt::format("{}, \"added_tokens\"[{}]", source, i);
      AddedToken token = read_token(list[i], where);
      if (token.text.empty()) continue;  // nowhere in a text
      if (!texts.insert(token.text).second)
        throw request_error(fmt::format("{}: the token {} was added before", where, shown(token.text)));
      const auto known = vocabulary.find(token.text);
      const int64_t right = known == vocabulary.end() ? next : known->second;
      if (token.id != right)
        throw request_error(fmt::format(
            "{}: the token {} has the id {}, but Hugging Face's tokenizers give it {}: {}; write that id",
            where, shown(token.text), token.id, right,
            known == vocabulary.end() ? "added tokens follow the vocabulary, one by one"
                                      : "its id in the vocabulary"));
      if (known == vocabulary.end() && !taken.insert(token.id).second)
        throw request_error(
            fmt::format("{}: the token {} and a token of the vocabulary have the id {}; ids must differ",
                        where, shown(token.text), token.id));
      next = std::max<int64_t>(next, token.id + int64_t{1});
      tokens.push_back(std::move(token));
    }
  }
  return AddedTokens(std::move(tokens), std::move(normalize), source);
}

}  // namespace shardlens
