// SentencePiece models that would end the program if the library saw them.
#include "engine/train/tokenizer/sentencepiece_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "engine/train/tokenizer/sentencepiece_tokenizer.h"
#include "tests/data_folder.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace sentencepiece_model_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Messages in protobuf's encoding, of at most 16,383 bytes.
std::string length_of(const std::string& bytes) {
  std::string length;
  for (size_t rest = bytes.size();; rest >>= 7) {
    length += static_cast<char>((rest & 0x7F) | (rest > 0x7F ? 0x80 : 0));
    if (rest <= 0x7F) return length;
  }
}
std::string field(int number, const std::string& bytes) {
  return static_cast<char>(number << 3 | 2) + length_of(bytes) + bytes;
}
std::string bits(uint32_t value) {
  std::string bytes(4, '\0');
  std::memcpy(bytes.data(), &value, 4);
  return bytes;
}

enum Type { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kByte = 6 };
std::string piece(const std::string& text, Type type = kNormal) {
  return field(1, field(1, text) + "\x18" + static_cast<char>(type));
}
std::string with_map(const std::string& map, int normalizer = 3) {
  return piece("<unk>", kUnknown) + piece("a") + field(normalizer, field(2, map));
}

std::string refused(const std::string& model) {
  return error_of([&] {
    const SentencePieceTokenizer tokenizer(model, "some.model");
    for (const char* text : {"a", "A", "abc", "aaaa", "\x01\x02\x03"}) tokenizer.encode(text);
  });
}

// A double array of 256 units and more. The root is unit 0; a node is the place its children count from.
class Map {
 public:
  explicit Map(size_t units = 512) : units_(units, 0x800000FFu) { units_[0] = offset(256); }
  // The child of a node for a byte; `texts` is where its rule's text begins, if it has a rule.
  Map& child(uint32_t node, uint8_t byte, uint32_t child_node, int texts = -1) {
    const uint32_t at = node ^ byte;
    units_[at] = byte | offset(at ^ child_node) | (texts >= 0 ? 0x100u : 0u);
    if (texts >= 0) units_[child_node] = 0x80000000u | static_cast<uint32_t>(texts);
    return *this;
  }
  std::string bytes(const std::string& texts) const {
    std::string all = bits(static_cast<uint32_t>(units_.size() * 4));
    for (const uint32_t unit : units_) all += bits(unit);
    return all + texts;
  }

 private:
  static uint32_t offset(uint32_t distance) { return distance << 10; }
  std::vector<uint32_t> units_;
};

const std::string kTexts("a\0bb\0", 5);

TEST(SentencePieceModel, ASoundCharacterMapIsUsed) {
  const Map map = Map().child(256, 'A', 300, 0);
  const SentencePieceTokenizer tokenizer(with_map(map.bytes(kTexts)), "some.model");
  EXPECT_EQ(tokenizer.encode("AaA"), tokenizer.encode("aaa"));
  EXPECT_EQ(refused(with_map(map.bytes(kTexts), 5)), "no error");
}

TEST(SentencePieceModel, NoLookupLeavesACharacterMap) {
  const auto refused_map = [](const std::string& bytes) {
    const std::string reason = refused(with_map(bytes));
    EXPECT_EQ(refused(with_map(bytes, 5)), reason) << "what decoding uses is checked like what encoding uses";
    EXPECT_THAT(reason, AllOf(HasSubstr("some.model"), HasSubstr("precompiled_charsmap")));
    return reason;
  };
  // The smallest case: 29 bytes, one unit that leads far away.
  refused_map(bits(4) + bits(0xFFFFFC00u) + "a");
  refused_map("abc");
  refused_map(bits(0) + kTexts);
  refused_map(bits(5000) + kTexts);
  EXPECT_THAT(refused_map(Map(300).bytes(kTexts)), HasSubstr("outside itself"));
  EXPECT_THAT(refused_map(Map().child(256, 'A', 600).bytes(kTexts)), HasSubstr("outside itself"));
  EXPECT_THAT(refused_map(Map().child(256, 0, 600).bytes(kTexts)), HasSubstr("outside itself"));
  EXPECT_THAT(refused_map(Map().child(256, 'A', 300, 5).bytes(kTexts)), HasSubstr("text is outside"));
  EXPECT_THAT(refused_map(Map().child(256, 'A', 300, 4).bytes("aaaab")), HasSubstr("does not end"));
  EXPECT_THAT(refused_map(Map().child(256, 'A', 300, 0).bytes(std::string(1000, 'a') + '\0')),
              HasSubstr("text is too long"));
  EXPECT_THAT(refused_map(Map().child(256, 'A', 256, 0).bytes(kTexts)),
              HasSubstr("rule of its trie is too long"));
  Map nested(2048);
  uint32_t node = 256;
  for (uint32_t i = 0; i < 40; ++i, node += 40) nested.child(node, 'a', node + 40, 0);
  EXPECT_THAT(refused_map(nested.bytes(kTexts)), HasSubstr("too many rules"));
}

TEST(SentencePieceModel, PiecesThatTheLibraryWouldTrustAreRefused) {
  const std::string unknown = piece("<unk>", kUnknown);
  EXPECT_EQ(refused(unknown + piece("a")), "no error");
  EXPECT_THAT(refused(unknown + piece("")),
              AllOf(HasSubstr("some.model"), HasSubstr("no text for its piece 1")));
  EXPECT_THAT(refused(unknown + piece(std::string(1, '\0'))), HasSubstr("a NUL in its piece 1"));
  EXPECT_THAT(refused(unknown + piece(std::string(5000, 'a'))), HasSubstr("5000 bytes in its piece 1"));
  EXPECT_THAT(refused(unknown + piece("a") + piece("a")), HasSubstr("the piece a twice"));
  EXPECT_THAT(refused(unknown + piece("\n") + piece("\n")), Not(HasSubstr("\n"))) << "names are shown";
  EXPECT_THAT(refused(unknown + unknown), HasSubstr("<unk> twice"));
  EXPECT_THAT(refused(piece("a")), HasSubstr("0 pieces for unknown text"));
  const float endless = std::numeric_limits<float>::infinity();
  std::string score(4, '\0');
  std::memcpy(score.data(), &endless, 4);
  EXPECT_THAT(refused(unknown + field(1, field(1, "a") + "\x15" + score)), HasSubstr("no finite score"));
  std::string symbols;
  for (size_t letters = 1; letters <= 64; ++letters)
    symbols += piece(std::string(letters, 'a'), kUserDefined);
  EXPECT_EQ(refused(unknown + piece("b") + symbols), "no error");
  EXPECT_THAT(refused(unknown + symbols + piece(std::string(65, 'a'), kUserDefined)),
              HasSubstr("begin with each other"));
  // What the library refuses itself, it refuses in our words.
  for (const std::string& model : {unknown, unknown + piece("<0x41>", kByte)})
    EXPECT_THAT(refused(model),
                AllOf(HasSubstr("does not open the model some.model"), Not(HasSubstr(".cc"))));
  EXPECT_THAT(refused(unknown + piece("\u2581", kControl) + piece("a", kControl) +
                      field(2, std::string("\x18\x02", 2))),  // a BPE
              AllOf(HasSubstr("some.model cannot cut"), Not(HasSubstr(".cc"))));
}

TEST(SentencePieceModel, AShortenedModelIsRefusedWhereverItEnds) {
  std::ifstream file(test_data_folder() + "/tokenizers/sentencepiece/tokenizer.model", std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  ASSERT_EQ(error_of([&] { SentencePieceTokenizer(whole, "some.model"); }), "no error");
  testing::internal::CaptureStderr();
  for (size_t bytes = 0; bytes + 1 < whole.size(); bytes += 7)
    EXPECT_THAT(error_of([&] { SentencePieceTokenizer(whole.substr(0, bytes), "some.model"); }),
                HasSubstr("some.model"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "the library's log is not the user's";
}

}  // namespace sentencepiece_model_test
}  // namespace shardlens
