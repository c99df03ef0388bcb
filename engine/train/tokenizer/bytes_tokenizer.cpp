// Implements the tokenizer in which every byte is a token.
#include "engine/train/tokenizer/bytes_tokenizer.h"

#include <nlohmann/json.hpp>

#include "engine/io/hash_of_version_1.h"
#include "engine/train/tokenizer/byte_alphabet.h"

namespace shardlens {
namespace {

constexpr std::string_view kEndOfTextName = "<|endoftext|>";

}  // namespace

uint64_t BytesTokenizer::fingerprint() const {
  return hash_of_version_1("bytes", 5);
}

std::optional<int32_t> BytesTokenizer::special(std::string_view token) const {
  return token == kEndOfTextName ? std::optional(kEndOfText) : std::nullopt;
}

std::vector<int32_t> BytesTokenizer::encode(std::string_view text) const {
  std::vector<int32_t> ids;
  ids.reserve(text.size());
  while (!text.empty()) {
    const size_t end =
        name_in_text_ == NameInText::Token ? text.find(kEndOfTextName) : std::string_view::npos;
    for (const char c : text.substr(0, end)) ids.push_back(static_cast<uint8_t>(c));
    if (end == std::string_view::npos) break;
    ids.push_back(kEndOfText);
    text.remove_prefix(end + kEndOfTextName.size());
  }
  return ids;
}

std::string BytesTokenizer::piece(int32_t id) const {
  require_id(id);
  return id == kEndOfText ? std::string() : std::string(1, static_cast<char>(id));
}

std::map<std::string, std::string> BytesTokenizer::files() const {
  using nlohmann::ordered_json;
  ordered_json vocab = ordered_json::object();
  for (int byte = 0; byte < 256; ++byte) vocab[byte_to_letter(static_cast<uint8_t>(byte))] = byte;
  const ordered_json byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  const ordered_json json = {{"version", "1.0"},
                             {"truncation", nullptr},
                             {"padding", nullptr},
                             {"added_tokens",
                              {{{"id", kEndOfText},
                                {"content", kEndOfTextName},
                                {"single_word", false},
                                {"lstrip", false},
                                {"rstrip", false},
                                {"normalized", false},
                                {"special", true}}}},
                             {"normalizer", nullptr},
                             {"pre_tokenizer", byte_level},
                             {"post_processor", nullptr},
                             {"decoder", byte_level},
                             {"model",
                              {{"type", "BPE"},
                               {"dropout", nullptr},
                               {"unk_token", nullptr},
                               {"continuing_subword_prefix", nullptr},
                               {"end_of_word_suffix", nullptr},
                               {"fuse_unk", false},
                               {"byte_fallback", false},
                               {"vocab", vocab},
                               {"merges", ordered_json::array()}}}};
  return {{"tokenizer.json", json.dump(1)}};
}

}  // namespace shardlens
