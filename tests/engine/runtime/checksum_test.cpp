// A file's checksum depends only on its bytes, not on how they arrived, and changes with every byte.
#include "engine/runtime/checksum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace checksum_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ChecksumTest : public TestFolder {
 protected:
  // Two whole blocks and a bit, none like another.
  static std::string some_bytes() {
    std::string bytes(2 * Checksum::kBlockBytes + 21, '\0');
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * i / 251 + i);
    return bytes;
  }
  static std::string checksum_of(const std::string& bytes, size_t at_a_time) {
    Checksum checksum;
    for (size_t at = 0; at < bytes.size(); at += at_a_time)
      checksum.add(bytes.data() + at, std::min(at_a_time, bytes.size() - at));
    return checksum.text();
  }
  // As a checkpoint would be read: `bytes` in a file whose checksum is said to be `expected`.
  std::string error_for(const std::string& bytes, const std::string& expected) {
    write("training.json", "{\"checksums\": {\"x.safetensors\": \"" + expected + "\"}}");
    write("x.safetensors", bytes);
    return error_of([&] { require_as_saved(path("x.safetensors")); });
  }
};

TEST_F(ChecksumTest, DoesNotDependOnHowTheBytesCome) {
  const std::string bytes = some_bytes();
  const std::string whole = checksum_of(bytes, bytes.size());
  EXPECT_EQ(whole, "xxh3:a2c5a5c4335062fa");
  for (const size_t at_a_time : {size_t{3}, size_t{4096}, Checksum::kBlockBytes, Checksum::kBlockBytes + 1})
    EXPECT_EQ(checksum_of(bytes, at_a_time), whole) << at_a_time;
  EXPECT_NE(checksum_of(bytes.substr(1), bytes.size()), whole);
}

TEST_F(ChecksumTest, OneBitAnywhereIsNoticed) {
  std::string bytes = some_bytes();
  const std::string whole = checksum_of(bytes, 1000);
  EXPECT_EQ(error_for(bytes, whole), "no error");
  const size_t block = Checksum::kBlockBytes;
  for (const size_t at : {size_t{0}, size_t{77}, block - 1, block, 2 * block + 8, bytes.size() - 1}) {
    bytes[at] ^= 4;
    EXPECT_THAT(error_for(bytes, whole),
                AllOf(HasSubstr("x.safetensors is damaged"), HasSubstr(whole),
                      HasSubstr(checksum_of(bytes, bytes.size())), HasSubstr("from a copy")))
        << at;
    bytes[at] ^= 4;
  }
  EXPECT_NE(error_for(bytes + '\0', whole), "no error");
}

// Digits that were made before checksums named their algorithm.
TEST_F(ChecksumTest, OneBitIsNoticedByAChecksumOfAnOlderVersion) {
  const std::string old = "b2c8a64bbfcc6b5b";
  std::string bytes = some_bytes();
  EXPECT_EQ(error_for(bytes, old), "no error");
  for (const size_t at : {size_t{0}, Checksum::kBlockBytes, bytes.size() - 1}) {
    bytes[at] ^= 4;
    EXPECT_THAT(error_for(bytes, old),
                AllOf(HasSubstr("x.safetensors is damaged"), HasSubstr(old), Not(HasSubstr("xxh3"))))
        << at;
    bytes[at] ^= 4;
  }
}

TEST_F(ChecksumTest, TheStateIsCheckedByItsOwnChecksumOfEitherVersion) {
  for (const std::string own : {"dba3e43137dfd3d6", "xxh3:dba1636ecaa46f51"}) {
    const std::string text =
        R"({"format": 1, "step": 7, "checksums": {"x.safetensors": "0", "training.json": ")" + own + "\"}}";
    const auto error = [&](const std::string& json) {
      return error_of([&] { read_checkpoint_state(write("training.json", json)); });
    };
    EXPECT_EQ(error(text), "no error") << own;
    std::string changed = text;
    changed.replace(text.find('7'), 1, "6");
    EXPECT_THAT(error(changed), AllOf(HasSubstr("training.json is damaged"), HasSubstr(own)));
  }
}

TEST_F(ChecksumTest, AnUnknownAlgorithmIsRefusedByName) {
  EXPECT_THAT(error_for("anything", "xxh4:b2c8a64bbfcc6b5b"),
              AllOf(HasSubstr("x.safetensors cannot be checked"), HasSubstr("\"xxh4:b2c8a64bbfcc6b5b\""),
                    HasSubstr("\"xxh3:\" with 16 digits"), HasSubstr("newer version")));
}

TEST_F(ChecksumTest, WhatNothingIsSaidOfIsTakenAsItIs) {
  write("x.safetensors", "anything");
  const auto error = [&] { return error_of([&] { require_as_saved(path("x.safetensors")); }); };
  EXPECT_EQ(error(), "no error");
  for (const char* text : {"{}", "{\"checksums\": {}}", "{\"checksums\": {\"other.safetensors\": \"0\"}}"}) {
    write("training.json", text);
    EXPECT_EQ(error(), "no error") << text;
  }
  write("training.json", "{\"checksums\": {\"x.safetensors\": 7}}");
  EXPECT_THAT(error(), AllOf(HasSubstr("training.json, checksums"), HasSubstr("x.safetensors")));
}

}  // namespace checksum_test
}  // namespace shardlens
