// Implements GPT-2's tokenizer, and reads its vocabulary in its two forms.
#include "engine/train/tokenizer/gpt2_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/shown.h"
#include "engine/io/hash_of_version_1.h"
#include "engine/io/json.h"
#include "engine/train/tokenizer/byte_alphabet.h"
#include "engine/train/tokenizer/gpt2_split.h"

namespace shardlens {
namespace {

using nlohmann::json;
using MergeList = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kEndOfText = "<|endoftext|>";

std::pair<std::string, std::string> read_merge(const std::string& line, const std::string& where) {
  const size_t space = line.find(' ');
  if (space == std::string::npos || space == 0 || space + 1 == line.size() ||
      line.find(' ', space + 1) != std::string::npos)
    throw request_error(fmt::format("{}: \"{}\" is not two tokens with a space between", where, shown(line)));
  return {line.substr(0, space), line.substr(space + 1)};
}

MergeList read_merges_txt(const std::string& text, const std::string& source) {
  MergeList merges;
  size_t line_number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    ++line_number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || (line_number == 1 && line.starts_with("#version"))) continue;
    merges.push_back(read_merge(line, fmt::format("{}/merges.txt, line {}", source, line_number)));
  }
  return merges;
}

// Merges are a list of "left right" or, since 2024, of ["left", "right"].
MergeList read_merges_json(const json& list, const std::string& where) {
  if (!list.is_array()) throw request_error(fmt::format("{} must be a list of pairs of tokens", where));
  MergeList merges;
  for (size_t i = 0; i < list.size(); ++i) {
    const json& merge = list[i];
    const std::string place = fmt::format("{}[{}]", where, i);
    if (merge.is_string()) {
      merges.push_back(read_merge(merge.get_ref<const std::string&>(), place));
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      merges.emplace_back(merge[0].get_ref<const std::string&>(), merge[1].get_ref<const std::string&>());
    } else {
      throw request_error(fmt::format("{} is not two tokens: a text \"left right\" or a list", place));
    }
  }
  return merges;
}

// True for all that is not null, false, 0 or "", which say that an option is not used.
bool is_set(ObjectReader& object, const char* key) {
  if (!object.has(key)) return false;
  const json& value = object.child(key);
  return !value.is_null() && value != false && value != 0 && value != "";
}

// Refuses, by name, each option that would change the tokens if it were ignored. Returns "add_prefix_space".
bool require_byte_level(ObjectReader& tokenizer, ObjectReader& model) {
  const auto refuse = [&](const std::string& what) {
    throw request_error(
        fmt::format("{}: {} is not supported; use a byte-level BPE in GPT-2's form (pre-tokenizer ByteLevel, "
                    "no normalizer)",
                    tokenizer.where(), shown(what)));
  };
  for (const char* option :
       {"dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback", "ignore_merges"}) {
    if (is_set(model, option)) refuse(fmt::format("\"{}\" of the model", option));
  }
  if (is_set(tokenizer, "normalizer")) refuse("a normalizer");
  if (!is_set(tokenizer, "pre_tokenizer")) refuse("a model without a pre-tokenizer");
  ObjectReader pre_tokenizer(tokenizer.child("pre_tokenizer"), tokenizer.where() + ", \"pre_tokenizer\"");
  const std::string type = pre_tokenizer.string("type");
  if (type != "ByteLevel") refuse("the pre-tokenizer " + type);
  if (!pre_tokenizer.boolean_or("use_regex", true)) refuse("ByteLevel without its regular expression");
  return pre_tokenizer.boolean_or("add_prefix_space", false);
}

std::array<int32_t, 256> byte_tokens(const Vocabulary& vocabulary, const std::string& source) {
  std::array<int32_t, 256> ids{};
  for (int byte = 0; byte < 256; ++byte) {
    const auto found = vocabulary.find(byte_to_letter(static_cast<uint8_t>(byte)));
    if (found == vocabulary.end())
      throw request_error(fmt::format(
          "{}: the vocabulary has no token for the byte {:#04x} (the letter {}); a byte-level vocabulary "
          "holds all 256",
          source, byte, byte_to_letter(static_cast<uint8_t>(byte))));
    ids[static_cast<size_t>(byte)] = found->second;
  }
  return ids;
}

std::vector<Merge> merge_ids(const Vocabulary& vocabulary, const MergeList& merges,
                             const std::string& source) {
  std::vector<Merge> ids;
  ids.reserve(merges.size());
  for (const auto& [left, right] : merges) {
    const auto id = [&](const std::string& token) {
      const auto found = vocabulary.find(token);
      if (found == vocabulary.end())
        throw request_error(fmt::format(
            "{}: the merge \"{} {}\" needs the token {}, which the vocabulary does not have; give "
            "a vocabulary and merges that belong together",
            source, shown(left), shown(right), shown(token)));
      return found->second;
    };
    ids.push_back({id(left), id(right), id(left + right)});
  }
  return ids;
}

}  // namespace

Gpt2Tokenizer::Gpt2Tokenizer(const Vocabulary& vocabulary, const MergeList& merges, AddedTokens added,
                             bool add_prefix_space, std::map<std::string, std::string> files,
                             const std::string& source)
    : added_(std::move(added)),
      add_prefix_space_(add_prefix_space),
      bpe_(byte_tokens(vocabulary, source), merge_ids(vocabulary, merges, source)),
      files_(std::move(files)) {
  int32_t largest = 0;
  for (const auto& [token, id] : vocabulary) largest = std::max(largest, id);
  for (const AddedToken& token : added_.all()) largest = std::max(largest, token.id);
  pieces_.resize(static_cast<size_t>(largest) + 1);
  for (const auto& [token, id] : vocabulary) {
    if (added_.find(id)) continue;
    const std::optional<std::string> bytes = letters_to_bytes(token);
    if (!bytes)
      throw request_error(
          fmt::format("{}: the token {} (id {}) is not written in the byte-level alphabet; give a vocabulary "
                      "in GPT-2's form",
                      source, shown(token), id));
    pieces_[static_cast<size_t>(id)] = *bytes;
  }

  // The fingerprint is of everything that determines the tokens: pieces with their lengths, added tokens,
  // merges, the prefix.
  std::string identity = fmt::format("gpt2-bpe\n{}\n", add_prefix_space_);
  for (const std::string& piece : pieces_) identity += fmt::format("{}:{}", piece.size(), piece);
  for (const AddedToken& token : added_.all()) identity += fmt::format("\n{} {}", token.id, token.text);
  for (const auto& [left, right] : merges) identity += fmt::format("\n{} {}", left, right);
  fingerprint_ = hash_of_version_1(identity.data(), identity.size());

  for (const AddedToken& token : added_.all()) pieces_[static_cast<size_t>(token.id)] = added_.decoded(token);
}

std::shared_ptr<const Gpt2Tokenizer> Gpt2Tokenizer::from_vocab_and_merges(const std::string& vocab_json,
                                                                          const std::string& merges_txt,
                                                                          const std::string& source) {
  const std::string vocab_source = source + "/vocab.json";
  const Vocabulary vocabulary = read_vocabulary(parse_json(vocab_json, vocab_source), vocab_source);
  std::vector<AddedToken> added;
  const auto end = vocabulary.find(kEndOfText);
  if (end != vocabulary.end()) added.push_back({kEndOfText, end->second});
  return std::shared_ptr<const Gpt2Tokenizer>(new Gpt2Tokenizer(
      vocabulary, read_merges_txt(merges_txt, source), AddedTokens(std::move(added), {}, vocab_source), false,
      {{"vocab.json", vocab_json}, {"merges.txt", merges_txt}}, source));
}

std::shared_ptr<const Gpt2Tokenizer> Gpt2Tokenizer::from_tokenizer_json(const std::string& text,
                                                                        ObjectReader& tokenizer) {
  const std::string& source = tokenizer.where();
  ObjectReader model(tokenizer.child("model"), source + ", \"model\"");
  const bool add_prefix_space = require_byte_level(tokenizer, model);
  const Vocabulary vocabulary = read_vocabulary(model.child("vocab"), model.where() + ", \"vocab\"");
  const MergeList merges = read_merges_json(model.child("merges"), model.where() + ", \"merges\"");
  return std::shared_ptr<const Gpt2Tokenizer>(
      new Gpt2Tokenizer(vocabulary, merges, read_added_tokens(tokenizer, vocabulary, {}), add_prefix_space,
                        {{"tokenizer.json", text}}, source));
}

std::optional<int32_t> Gpt2Tokenizer::special(std::string_view token) const {
  const AddedToken* found = added_.find(token);
  return found ? std::optional(found->id) : std::nullopt;
}

std::optional<int32_t> Gpt2Tokenizer::end_of_text() const {
  const std::optional<int32_t> end = special(kEndOfText);
  return end ? end : special("</s>");
}

std::vector<int32_t> Gpt2Tokenizer::encode(std::string_view text) const {
  std::vector<int32_t> ids;
  added_.split(
      text,
      [&](std::string_view part) {
        std::string prefixed;
        if (add_prefix_space_ && !part.starts_with(' ')) part = prefixed = " " + std::string(part);
        for (const std::string_view piece : gpt2_split(part)) bpe_.encode(piece, ids);
      },
      [&](int32_t id) { ids.push_back(id); });
  return ids;
}

std::string Gpt2Tokenizer::piece(int32_t id) const {
  require_id(id);
  return pieces_[static_cast<size_t>(id)];
}

}  // namespace shardlens
