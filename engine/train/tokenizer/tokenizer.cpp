// Implements what all tokenizers share, and detects which tokenizer a folder or file holds.
#include "engine/train/tokenizer/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/shown.h"
#include "engine/io/atomic_file.h"
#include "engine/io/file_problem.h"
#include "engine/io/input_file.h"
#include "engine/io/json.h"
#include "engine/train/tokenizer/bytes_tokenizer.h"
#include "engine/train/tokenizer/gpt2_tokenizer.h"
#include "engine/train/tokenizer/sentencepiece_tokenizer.h"
#include "engine/train/tokenizer/vocabulary.h"
#include "engine/train/tokenizer/wordpiece_tokenizer.h"

namespace shardlens {
namespace {

namespace fs = std::filesystem;
using TokenizerPointer = std::shared_ptr<const Tokenizer>;

constexpr int64_t kLargestFileBytes = int64_t{1} << 28;

std::string read_text(const fs::path& path) {
  const InputFile file(path.string());
  if (file.size() > kLargestFileBytes)
    throw request_error(
        fmt::format("{} is too large for a tokenizer's file ({} bytes)", path.string(), file.size()));
  return file.text();
}

TokenizerPointer from_tokenizer_json(const fs::path& path) {
  const std::string source = path.string();
  const std::string text = read_text(path);
  // This vocabulary has its own, faster reader; it is recognised by its bytes.
  const BytesTokenizer bytes;
  if (text == bytes.files().at("tokenizer.json"))
    return std::make_shared<BytesTokenizer>(BytesTokenizer::NameInText::Token);
  const nlohmann::json contents = parse_json(text, source);
  ObjectReader tokenizer(contents, source);
  ObjectReader model(tokenizer.child("model"), source + ", \"model\"");
  // Files from before 2022 do not name the model's type. Only a BPE has merges.
  const std::string type = model.string_or("type", model.has("merges") ? "BPE" : "WordPiece");
  if (type == "BPE") return Gpt2Tokenizer::from_tokenizer_json(text, tokenizer);
  if (type == "WordPiece") return WordPieceTokenizer::from_tokenizer_json(text, tokenizer);
  throw request_error(
      fmt::format("{}: the model {} is not supported; use BPE or WordPiece", source, shown(type)));
}

// Refuses a token that was added to the vocabulary in another file than tokenizer.json: a text that has it
// would be cut in another way.
void refuse_added_token(int64_t id, const std::string& token, const std::string& where,
                        const Tokenizer& tokenizer) {
  if (id < tokenizer.vocab_size()) return;
  throw request_error(fmt::format(
      "{}: the token {} (id {}) was added to a vocabulary of {}; added tokens are read from a tokenizer.json "
      "alone. Write one: transformers' AutoTokenizer.from_pretrained(folder).save_pretrained(folder)",
      where, shown(token), id, tokenizer.vocab_size()));
}

// Looks into the files beside a vocabulary in which transformers lists added tokens: added_tokens.json is
// {"token": id}, tokenizer_config.json has {"added_tokens_decoder": {"id": {"content": "token"}}}.
TokenizerPointer require_no_more_tokens(TokenizerPointer tokenizer, const fs::path& folder) {
  if (const fs::path file = folder / "added_tokens.json"; fs::exists(file)) {
    const std::string where = file.string();
    for (const auto& [token, id] : read_vocabulary(parse_json(read_text(file), where), where))
      refuse_added_token(id, token, where, *tokenizer);
  }
  if (const fs::path file = folder / "tokenizer_config.json"; fs::exists(file)) {
    const nlohmann::json contents = parse_json(read_text(file), file.string());
    ObjectReader config(contents, file.string());
    if (!config.has("added_tokens_decoder")) return tokenizer;
    const nlohmann::json& list = config.child("added_tokens_decoder");
    ObjectReader decoder(list, file.string() + ", \"added_tokens_decoder\"");
    for (const auto& [key, value] : list.items()) {
      ObjectReader token(value, fmt::format("{}, \"{}\"", decoder.where(), shown(key)));
      int64_t id = 0;
      const char* end = key.data() + key.size();
      if (const auto read = std::from_chars(key.data(), end, id); read.ec != std::errc() || read.ptr != end)
        throw request_error(
            fmt::format("{}: the key \"{}\" is not a token's id", decoder.where(), shown(key)));
      refuse_added_token(id, token.string("content"), token.where(), *tokenizer);
    }
  }
  return tokenizer;
}

TokenizerPointer from_vocab_json(const fs::path& path) {
  const fs::path folder = path.parent_path();
  const fs::path merges = folder / "merges.txt";
  if (!fs::exists(merges))
    throw request_error(
        fmt::format("{} has no merges.txt next to it; GPT-2's vocabulary needs both files", path.string()));
  return require_no_more_tokens(
      Gpt2Tokenizer::from_vocab_and_merges(read_text(path), read_text(merges), folder.string()), folder);
}

TokenizerPointer from_vocab_txt(const fs::path& path) {
  const fs::path folder = path.parent_path();
  const fs::path config = folder / "tokenizer_config.json";
  return require_no_more_tokens(
      WordPieceTokenizer::from_vocab_txt(read_text(path), fs::exists(config) ? read_text(config) : "",
                                         folder.string()),
      folder);
}

TokenizerPointer from_model(const fs::path& path) {
  return std::make_shared<SentencePieceTokenizer>(read_text(path), path.string());
}

// The reader of each file, in the order in which a folder is searched.
struct Form {
  const char* file;
  TokenizerPointer (*load)(const fs::path&);
};
constexpr Form kForms[] = {{"tokenizer.json", from_tokenizer_json},
                           {"vocab.json", from_vocab_json},
                           {"vocab.txt", from_vocab_txt},
                           {"tokenizer.model", from_model}};

constexpr const char* kWanted =
    "give the word bytes, one of the files tokenizer.json, vocab.json (with merges.txt), vocab.txt or "
    "tokenizer.model, or a folder with one of these files";

}  // namespace

std::string Tokenizer::decode(std::span<const int32_t> ids) const {
  std::string text;
  for (const int32_t id : ids) text += piece(id);
  return text;
}

void Tokenizer::require_id(int32_t id) const {
  if (id >= 0 && id < vocab_size()) return;
  throw request_error(fmt::format("token {} is outside the vocabulary of the tokenizer {}: ids are 0 to {}",
                                  id, name(), vocab_size() - 1));
}

bool has_tokenizer(const std::string& where) {
  const fs::path folder(where);
  const auto in_it = [&](const Form& form) { return fs::exists(folder / form.file); };
  return fs::is_directory(folder) &&
         (std::any_of(std::begin(kForms), std::end(kForms), in_it) || has_tokenizer(folder / "tokenizer"));
}

TokenizerPointer load_tokenizer(const std::string& where) {
  if (where == "bytes") return std::make_shared<BytesTokenizer>();
  const fs::path path(where);
  if (fs::is_directory(path)) {
    for (const Form& form : kForms) {
      if (fs::exists(path / form.file)) return form.load(path / form.file);
    }
    if (fs::is_directory(path / "tokenizer")) return load_tokenizer((path / "tokenizer").string());
    throw request_error(fmt::format("the folder {} has no tokenizer; {}", where, kWanted));
  }
  if (!fs::exists(path)) throw request_error(fmt::format("there is no tokenizer at {}; {}", where, kWanted));
  for (const Form& form : kForms) {
    if (path.filename() == form.file) return form.load(path);
  }
  if (path.filename() == "merges.txt") return from_vocab_json(path.parent_path() / "vocab.json");
  if (path.extension() == ".model") return from_model(path);
  throw request_error(fmt::format("{} does not have the name of a tokenizer's file; {}", where, kWanted));
}

void save_tokenizer(const Tokenizer& tokenizer, const std::string& folder) {
  make_folder(folder);
  const std::map<std::string, std::string> files = tokenizer.files();
  for (const auto& [file, text] : files)
    write_file_atomically((fs::path(folder) / file).string(), kOwnFile, text);
  for (const std::string_view file : kTokenizerFiles)
    if (!files.contains(std::string(file))) fs::remove(fs::path(folder) / file);
}

}  // namespace shardlens
