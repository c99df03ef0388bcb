// Implements BERT's tokenizer, and reads its vocabulary in its two forms.
#include "engine/train/tokenizer/wordpiece_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "engine/io/hash_of_version_1.h"
#include "engine/io/json.h"
#include "engine/train/tokenizer/wordpiece_training.h"

namespace shardlens {
namespace {

using nlohmann::json;

constexpr const char* kSpecialNames[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

BertRules read_normalizer(const json& normalizer, const std::string& source) {
  if (!normalizer.is_object() || normalizer.value("type", "") != "BertNormalizer")
    throw request_error(
        fmt::format("{}: the normalizer {} is not supported with WordPiece; use BertNormalizer", source,
                    normalizer.is_object() ? normalizer.value("type", "?") : normalizer.dump()));
  BertRules rules;
  rules.clean_text = normalizer.value("clean_text", true);
  rules.spaced_cjk = normalizer.value("handle_chinese_chars", true);
  rules.lower_case = normalizer.value("lowercase", true);
  const json strip = normalizer.value("strip_accents", json());
  rules.strip_accents = strip.is_null() ? rules.lower_case : strip.get<bool>();
  return rules;
}

BertRules read_config(const std::string& config_json, const std::string& source) {
  BertRules rules;
  if (config_json.empty()) return rules;
  const json config = parse_json(config_json, source);
  rules.lower_case = config.value("do_lower_case", true);
  rules.spaced_cjk = config.value("tokenize_chinese_chars", true);
  const json strip = config.value("strip_accents", json());
  rules.strip_accents = strip.is_null() ? rules.lower_case : strip.get<bool>();
  return rules;
}

std::vector<std::string> read_vocab_txt(const std::string& text) {
  std::vector<std::string> tokens;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string token = text.substr(at, end - at);
    if (!token.empty() && token.back() == '\r') token.pop_back();
    tokens.push_back(std::move(token));
    at = end + 1;
  }
  return tokens;
}

std::vector<std::string> read_vocab_json(const json& vocab, const std::string& source) {
  std::vector<std::string> tokens(vocab.size());
  for (const auto& [token, id] : vocab.items()) {
    if (!id.is_number_integer() || id < 0 || id > kLargestTokenId)
      throw request_error(fmt::format("{}: the token {} has the id {}; ids are integers from 0 to {}", source,
                                      token, id.dump(), kLargestTokenId));
    const auto at = id.get<size_t>();
    if (at >= tokens.size()) tokens.resize(at + 1);
    if (!tokens[at].empty())
      throw request_error(fmt::format("{}: {} and {} both have the id {}", source, tokens[at], token, at));
    tokens[at] = token;
  }
  return tokens;
}

}  // namespace

WordPieceTokenizer::WordPieceTokenizer(std::vector<std::string> tokens, Settings settings,
                                       SpecialTokens special, std::map<std::string, std::string> files,
                                       const std::string& source)
    : tokens_(std::move(tokens)),
      settings_(std::move(settings)),
      special_(std::move(special)),
      files_(std::move(files)) {
  for (const SpecialToken& token : special_.all()) {
    if (token.id < 0 || token.id > kLargestTokenId)
      throw request_error(fmt::format("{}: the added token {} has the id {}", source, token.text, token.id));
    if (static_cast<size_t>(token.id) >= tokens_.size()) tokens_.resize(static_cast<size_t>(token.id) + 1);
    tokens_[static_cast<size_t>(token.id)] = token.text;
  }
  for (size_t id = 0; id < tokens_.size(); ++id) {
    if (!tokens_[id].empty()) ids_[tokens_[id]] = static_cast<int32_t>(id);
  }
  const auto unknown = ids_.find(settings_.unknown);
  if (unknown == ids_.end())
    throw request_error(fmt::format("{}: the vocabulary has no {}, the token for words that it cannot write",
                                    source, settings_.unknown));
  unknown_ = unknown->second;

  const BertRules& rules = settings_.rules;
  std::string identity =
      fmt::format("wordpiece\n{} {} {} {} {}\n{}\n{}\n", rules.clean_text, rules.spaced_cjk, rules.lower_case,
                  rules.strip_accents, settings_.longest_word, settings_.continuation, settings_.unknown);
  for (const std::string& token : tokens_) identity += token + "\n";
  for (const SpecialToken& token : special_.all()) identity += fmt::format("{} {}\n", token.id, token.text);
  fingerprint_ = hash_of_version_1(identity.data(), identity.size());
}

std::shared_ptr<const WordPieceTokenizer> WordPieceTokenizer::from_vocab_txt(const std::string& vocab_txt,
                                                                             const std::string& config_json,
                                                                             const std::string& source) {
  std::vector<std::string> tokens = read_vocab_txt(vocab_txt);
  std::vector<SpecialToken> special;
  for (const char* name : kSpecialNames) {
    const auto found = std::find(tokens.begin(), tokens.end(), name);
    if (found != tokens.end()) special.push_back({name, static_cast<int32_t>(found - tokens.begin())});
  }
  Settings settings;
  settings.rules = read_config(config_json, source + "/tokenizer_config.json");
  std::map<std::string, std::string> files = {{"vocab.txt", vocab_txt}};
  if (!config_json.empty()) files["tokenizer_config.json"] = config_json;
  return std::shared_ptr<const WordPieceTokenizer>(
      new WordPieceTokenizer(std::move(tokens), std::move(settings), SpecialTokens(std::move(special)),
                             std::move(files), source + "/vocab.txt"));
}

std::shared_ptr<const WordPieceTokenizer> WordPieceTokenizer::from_tokenizer_json(const std::string& text,
                                                                                  const json& tokenizer,
                                                                                  const std::string& source) {
  const json& model = tokenizer["model"];
  const json pre_tokenizer = tokenizer.value("pre_tokenizer", json());
  if (!pre_tokenizer.is_object() || pre_tokenizer.value("type", "") != "BertPreTokenizer")
    throw request_error(
        fmt::format("{}: the pre-tokenizer {} is not supported with WordPiece; use BertPreTokenizer", source,
                    pre_tokenizer.is_object() ? pre_tokenizer.value("type", "?") : pre_tokenizer.dump()));
  Settings settings;
  settings.rules = read_normalizer(tokenizer.value("normalizer", json()), source);
  settings.continuation = model.value("continuing_subword_prefix", "##");
  settings.unknown = model.value("unk_token", "[UNK]");
  settings.longest_word = model.value("max_input_chars_per_word", size_t{100});
  return std::shared_ptr<const WordPieceTokenizer>(
      new WordPieceTokenizer(read_vocab_json(model.at("vocab"), source), std::move(settings),
                             read_added_tokens(tokenizer, source), {{"tokenizer.json", text}}, source));
}

std::shared_ptr<const WordPieceTokenizer> WordPieceTokenizer::train(const std::vector<std::string>& texts,
                                                                    int32_t entries) {
  return from_vocab_txt(train_wordpiece(texts, entries), "", "the learned vocabulary");
}

void WordPieceTokenizer::encode_word(const std::string& word, std::vector<int32_t>& ids) const {
  if (character_count(word) > settings_.longest_word) return ids.push_back(unknown_);
  const size_t begin_of_word = ids.size();
  std::string candidate;
  for (size_t begin = 0; begin < word.size();) {
    size_t end = word.size();
    for (; end > begin; --end) {
      if (end < word.size() && is_inside_character(word[end])) continue;
      candidate = begin > 0 ? settings_.continuation : std::string();
      candidate.append(word, begin, end - begin);
      const auto found = ids_.find(candidate);
      if (found == ids_.end()) continue;
      ids.push_back(found->second);
      break;
    }
    if (end == begin) {  // one piece is missing: the whole word is unknown
      ids.resize(begin_of_word);
      return ids.push_back(unknown_);
    }
    begin = end;
  }
}

std::vector<int32_t> WordPieceTokenizer::encode(std::string_view text) const {
  std::vector<int32_t> ids;
  special_.split(
      text,
      [&](std::string_view part) {
        for (const std::string& word : bert_words(part, settings_.rules)) encode_word(word, ids);
      },
      [&](int32_t id) { ids.push_back(id); });
  return ids;
}

std::optional<int32_t> WordPieceTokenizer::special(std::string_view token) const {
  const SpecialToken* found = special_.find(token);
  return found ? std::optional(found->id) : std::nullopt;
}

std::string WordPieceTokenizer::piece(int32_t id) const {
  require_id(id);
  if (special_.contains(id)) return {};
  const std::string& token = tokens_[static_cast<size_t>(id)];
  return token.starts_with(settings_.continuation) ? token.substr(settings_.continuation.size())
                                                   : " " + token;
}

std::string WordPieceTokenizer::decode(std::span<const int32_t> ids) const {
  const std::string text = Tokenizer::decode(ids);
  return text.starts_with(' ') ? text.substr(1) : text;
}

}  // namespace shardlens
