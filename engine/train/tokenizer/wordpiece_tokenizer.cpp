// Implements BERT's tokenizer, and reads its vocabulary in its two forms.
#include "engine/train/tokenizer/wordpiece_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/shown.h"
#include "engine/base/utf8.h"
#include "engine/io/hash_of_version_1.h"
#include "engine/io/json.h"
#include "engine/train/tokenizer/wordpiece_training.h"

namespace shardlens {
namespace {

constexpr const char* kSpecialNames[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

BertRules read_normalizer(ObjectReader& tokenizer) {
  ObjectReader normalizer(tokenizer.child("normalizer"), tokenizer.where() + ", \"normalizer\"");
  if (const std::string type = normalizer.string("type"); type != "BertNormalizer")
    throw request_error(
        fmt::format("{}: the normalizer {} is not supported with WordPiece; use BertNormalizer",
                    tokenizer.where(), shown(type)));
  BertRules rules;
  rules.clean_text = normalizer.boolean_or("clean_text", true);
  rules.spaced_cjk = normalizer.boolean_or("handle_chinese_chars", true);
  rules.lower_case = normalizer.boolean_or("lowercase", true);
  rules.strip_accents = normalizer.boolean_or("strip_accents", rules.lower_case);
  return rules;
}

BertRules read_config(const std::string& config_json, const std::string& source) {
  BertRules rules;
  if (config_json.empty()) return rules;
  const nlohmann::json contents = parse_json(config_json, source);
  ObjectReader config(contents, source);
  rules.lower_case = config.boolean_or("do_lower_case", true);
  rules.spaced_cjk = config.boolean_or("tokenize_chinese_chars", true);
  rules.strip_accents = config.boolean_or("strip_accents", rules.lower_case);
  return rules;
}

AddedTokens::Normalize normalizer(const BertRules& rules) {
  return [rules](std::string_view text) { return bert_normalized(text, rules); };
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

std::vector<std::string> by_id(const Vocabulary& vocabulary) {
  std::vector<std::string> tokens(vocabulary.size());
  for (const auto& [token, id] : vocabulary) {
    const auto at = static_cast<size_t>(id);
    if (at >= tokens.size()) tokens.resize(at + 1);
    tokens[at] = token;
  }
  return tokens;
}

// The tokens with their ids. If one is listed twice, the later one counts, as in Hugging Face's tokenizers.
Vocabulary ids_of(const std::vector<std::string>& tokens) {
  Vocabulary ids;
  for (size_t id = 0; id < tokens.size(); ++id) {
    if (!tokens[id].empty()) ids[tokens[id]] = static_cast<int32_t>(id);
  }
  return ids;
}

}  // namespace

WordPieceTokenizer::WordPieceTokenizer(std::vector<std::string> tokens, Settings settings, AddedTokens added,
                                       std::map<std::string, std::string> files, const std::string& source)
    : tokens_(std::move(tokens)),
      settings_(std::move(settings)),
      added_(std::move(added)),
      files_(std::move(files)) {
  const Vocabulary ids = ids_of(tokens_);
  const auto unknown = ids.find(settings_.unknown);
  if (unknown == ids.end())
    throw request_error(fmt::format("{}: the vocabulary has no {}, the token for words that it cannot write",
                                    source, shown(settings_.unknown)));
  unknown_ = unknown->second;
  pieces_ = TokenTrie({ids.begin(), ids.end()}, source);
  continued_ = pieces_.after(settings_.continuation);

  const BertRules& rules = settings_.rules;
  std::string identity =
      fmt::format("wordpiece\n{} {} {} {} {}\n{}\n{}\n", rules.clean_text, rules.spaced_cjk, rules.lower_case,
                  rules.strip_accents, settings_.longest_word, settings_.continuation, settings_.unknown);
  for (const AddedToken& token : added_.all()) {
    const auto at = static_cast<size_t>(token.id);
    if (at >= tokens_.size()) tokens_.resize(at + 1);
    tokens_[at] = token.text;
  }
  for (const std::string& token : tokens_) identity += token + "\n";
  for (const AddedToken& token : added_.all())
    identity += fmt::format("{} {}{}\n", token.id, token.text, token.normalized ? " normalized" : "");
  fingerprint_ = hash_of_version_1(identity.data(), identity.size());
  for (const AddedToken& token : added_.all()) tokens_[static_cast<size_t>(token.id)] = added_.decoded(token);
}

std::shared_ptr<const WordPieceTokenizer> WordPieceTokenizer::from_vocab_txt(const std::string& vocab_txt,
                                                                             const std::string& config_json,
                                                                             const std::string& source) {
  std::vector<std::string> tokens = read_vocab_txt(vocab_txt);
  std::vector<AddedToken> added;
  for (const char* name : kSpecialNames) {
    const auto found = std::find(tokens.begin(), tokens.end(), name);
    if (found != tokens.end()) added.push_back({name, static_cast<int32_t>(found - tokens.begin())});
  }
  Settings settings;
  settings.rules = read_config(config_json, source + "/tokenizer_config.json");
  std::map<std::string, std::string> files = {{"vocab.txt", vocab_txt}};
  if (!config_json.empty()) files["tokenizer_config.json"] = config_json;
  const std::string file = source + "/vocab.txt";
  AddedTokens special(std::move(added), normalizer(settings.rules), file);
  return std::shared_ptr<const WordPieceTokenizer>(new WordPieceTokenizer(
      std::move(tokens), std::move(settings), std::move(special), std::move(files), file));
}

std::shared_ptr<const WordPieceTokenizer> WordPieceTokenizer::from_tokenizer_json(const std::string& text,
                                                                                  ObjectReader& tokenizer) {
  const std::string& source = tokenizer.where();
  ObjectReader model(tokenizer.child("model"), source + ", \"model\"");
  ObjectReader pre_tokenizer(tokenizer.child("pre_tokenizer"), source + ", \"pre_tokenizer\"");
  if (const std::string type = pre_tokenizer.string("type"); type != "BertPreTokenizer")
    throw request_error(
        fmt::format("{}: the pre-tokenizer {} is not supported with WordPiece; use BertPreTokenizer", source,
                    shown(type)));
  Settings settings;
  settings.rules = read_normalizer(tokenizer);
  settings.continuation = model.string_or("continuing_subword_prefix", settings.continuation);
  settings.unknown = model.string_or("unk_token", settings.unknown);
  settings.longest_word = model.integer_or("max_input_chars_per_word", settings.longest_word);
  if (settings.longest_word < 0)
    throw request_error(fmt::format("{}: \"max_input_chars_per_word\" is {}; it must be at least 0",
                                    model.where(), settings.longest_word));
  const Vocabulary vocabulary = read_vocabulary(model.child("vocab"), model.where() + ", \"vocab\"");
  AddedTokens added = read_added_tokens(tokenizer, vocabulary, normalizer(settings.rules));
  return std::shared_ptr<const WordPieceTokenizer>(new WordPieceTokenizer(
      by_id(vocabulary), std::move(settings), std::move(added), {{"tokenizer.json", text}}, source));
}

std::shared_ptr<const WordPieceTokenizer> WordPieceTokenizer::train(const std::vector<std::string>& texts,
                                                                    int32_t entries) {
  return from_vocab_txt(train_wordpiece(texts, entries), "", "the learned vocabulary");
}

void WordPieceTokenizer::encode_word(const std::string& word, std::vector<int32_t>& ids) const {
  if (static_cast<int64_t>(character_count(word)) > settings_.longest_word) return ids.push_back(unknown_);
  const size_t begin_of_word = ids.size();
  for (size_t begin = 0; begin < word.size();) {
    const std::string_view rest = std::string_view(word).substr(begin);
    const TokenTrie::Match match = begin == 0   ? pieces_.longest(rest)
                                   : continued_ ? pieces_.longest(rest, *continued_)
                                                : TokenTrie::Match();
    if (match.length == 0) {  // one piece is missing: the whole word is unknown
      ids.resize(begin_of_word);
      return ids.push_back(unknown_);
    }
    ids.push_back(match.id);
    begin += match.length;
  }
}

std::vector<int32_t> WordPieceTokenizer::encode(std::string_view text) const {
  std::vector<int32_t> ids;
  added_.split(
      text,
      [&](std::string_view part) {
        for (const std::string& word : bert_split(part)) encode_word(word, ids);
      },
      [&](int32_t id) { ids.push_back(id); });
  return ids;
}

std::optional<int32_t> WordPieceTokenizer::special(std::string_view token) const {
  const AddedToken* found = added_.find(token);
  return found ? std::optional(found->id) : std::nullopt;
}

std::string WordPieceTokenizer::piece(int32_t id) const {
  require_id(id);
  const std::string& token = tokens_[static_cast<size_t>(id)];
  if (token.empty()) return {};  // a special token, or no token
  return token.starts_with(settings_.continuation) ? token.substr(settings_.continuation.size())
                                                   : " " + token;
}

std::string WordPieceTokenizer::decode(std::span<const int32_t> ids) const {
  std::string text;
  for (const int32_t id : ids) {
    const std::string more = piece(id);
    text += text.empty() ? tokens_[static_cast<size_t>(id)] : more;  // the first one as it is written
  }
  return text;
}

}  // namespace shardlens
