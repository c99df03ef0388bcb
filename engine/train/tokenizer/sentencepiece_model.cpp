// Checks and opens a SentencePiece model.
#include "engine/train/tokenizer/sentencepiece_model.h"

#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/shown.h"
#include "engine/train/tokenizer/character_map.h"
#include "engine/train/tokenizer/vocabulary.h"

namespace sentencepiece::logging {
void SetMinLogLevel(int level);  // in the library, but not in its installed headers
}

namespace shardlens {
namespace {

constexpr int kOnlyFatal = 3;
constexpr size_t kLongestPieceBytes = 4096;  // learned ones have 16 letters
constexpr size_t kMostNestedSymbols = 64;    // SentencePiece has room for the symbols of one place

// The fields of sentencepiece_model.proto that are checked.
enum ModelField : uint32_t { kPieces = 1, kNormalizer = 3, kDenormalizer = 5 };
enum PieceField : uint32_t { kText = 1, kScore = 2, kType = 3 };
enum NormalizerField : uint32_t { kCharacterMap = 2 };
enum PieceType : int32_t { kNormal = 1, kUnknown = 2, kUserDefined = 4, kUnused = 5 };

// One field of a message in protobuf's encoding.
struct Field {
  enum Form : uint32_t { Number = 0, Bits64 = 1, Bytes = 2, Bits32 = 5 };
  uint32_t number = 0;
  uint32_t form = Number;
  uint64_t value = 0;      ///< of a number or of bits
  std::string_view bytes;  ///< of a text or a message
  bool is(uint32_t wanted_number, Form wanted_form) const {
    return number == wanted_number && form == wanted_form;
  }
};

// Reads a message field by field.
class Message {
 public:
  Message(std::string_view bytes, const std::string& source) : rest_(bytes), source_(source) {}

  std::optional<Field> next() {
    if (rest_.empty()) return std::nullopt;
    const uint64_t tag = number();
    Field field{static_cast<uint32_t>(tag >> 3), static_cast<uint32_t>(tag & 7), 0, {}};
    if (tag > UINT32_MAX || field.number == 0) refuse();
    switch (field.form) {
      case Field::Number:
        field.value = number();
        break;
      case Field::Bits64:
        field.value = bits(8);
        break;
      case Field::Bits32:
        field.value = bits(4);
        break;
      case Field::Bytes:
        field.bytes = take(number());
        break;
      default:
        refuse();  // groups, which the format does not use
    }
    return field;
  }

 private:
  [[noreturn]] void refuse() const {
    throw request_error(fmt::format("{} is not a SentencePiece model, or ends in the middle", source_));
  }

  std::string_view take(uint64_t count) {
    if (count > rest_.size()) refuse();
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  uint64_t number() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(take(1)[0]);
      value |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
    refuse();
  }

  uint64_t bits(size_t bytes) {
    uint64_t value = 0;
    std::memcpy(&value, take(bytes).data(), bytes);
    return value;
  }

  std::string_view rest_;
  const std::string& source_;
};

// The pieces of a model, checked one by one and then together.
class Pieces {
 public:
  explicit Pieces(const std::string& source) : source_(source) {}

  void add(std::string_view message) {
    std::string_view text;
    float score = 0;
    int32_t type = kNormal;
    Message fields(message, source_);
    while (const auto field = fields.next()) {
      if (field->is(kText, Field::Bytes)) text = field->bytes;
      if (field->is(kScore, Field::Bits32)) score = std::bit_cast<float>(static_cast<uint32_t>(field->value));
      if (field->is(kType, Field::Number)) type = static_cast<int32_t>(field->value);
    }
    const int64_t id = count_++;
    if (id > kLargestTokenId) refuse(fmt::format("has more than {} pieces", kLargestTokenId));
    if (text.empty()) refuse(fmt::format("has no text for its piece {}", id));
    if (text.find('\0') != std::string_view::npos) refuse(fmt::format("has a NUL in its piece {}", id));
    if (text.size() > kLongestPieceBytes)
      refuse(fmt::format("has {} bytes in its piece {}; at most {} are supported", text.size(), id,
                         kLongestPieceBytes));
    if (!std::isfinite(score)) refuse(fmt::format("has no finite score for its piece {}", id));
    // Pieces of text are looked up apart from those with a meaning.
    const bool is_text = type == kNormal || type == kUserDefined || type == kUnused;
    if (!(is_text ? texts_ : meanings_).insert(text).second)
      refuse(fmt::format("has the piece {} twice, the second time as {}", shown(text), id));
    unknown_ += type == kUnknown;
    if (type == kUserDefined) symbols_.insert(text);
  }

  void finish() const {
    if (count_ == 0)
      throw request_error(fmt::format("{} is not a SentencePiece model: it has no pieces", source_));
    if (unknown_ != 1) refuse(fmt::format("has {} pieces for unknown text; a model has one", unknown_));
    std::vector<std::string_view> open;  // symbols that begin the next one, each the beginning of the next
    for (const std::string_view symbol : symbols_) {
      while (!open.empty() && !symbol.starts_with(open.back())) open.pop_back();
      open.push_back(symbol);
      if (open.size() > kMostNestedSymbols)
        refuse(fmt::format("has more than {} user-defined symbols that begin with each other",
                           kMostNestedSymbols));
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw request_error(fmt::format("the SentencePiece model {} {}", source_, what));
  }

  const std::string& source_;
  int64_t count_ = 0;
  int unknown_ = 0;
  std::set<std::string_view> texts_, meanings_, symbols_;
};

void check_normalizer(std::string_view message, const std::string& source) {
  Message fields(message, source);
  while (const auto field = fields.next()) {
    if (field->is(kCharacterMap, Field::Bytes) && !field->bytes.empty())
      require_sound_character_map(field->bytes, source);
  }
}

void check(std::string_view model, const std::string& source) {
  Message fields(model, source);
  Pieces pieces(source);
  while (const auto field = fields.next()) {
    if (field->is(kPieces, Field::Bytes)) pieces.add(field->bytes);
    if (field->is(kNormalizer, Field::Bytes) || field->is(kDenormalizer, Field::Bytes))
      check_normalizer(field->bytes, source);
  }
  pieces.finish();
}

}  // namespace

void silence_sentencepiece() {
  sentencepiece::logging::SetMinLogLevel(kOnlyFatal);
}

std::unique_ptr<sentencepiece::SentencePieceProcessor> open_sentencepiece(const std::string& model,
                                                                          const std::string& source) {
  check(model, source);
  silence_sentencepiece();
  auto processor = std::make_unique<sentencepiece::SentencePieceProcessor>();
  bool is_open = false;
  try {
    is_open = processor->LoadFromSerializedProto(model).ok();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {  // Darts-clone's, whose words are about its own keys
  }
  if (!is_open)
    throw request_error(fmt::format(
        "SentencePiece does not open the model {}: its byte pieces, its own test or its types are "
        "not as they must be",
        source));
  return processor;
}

}  // namespace shardlens
