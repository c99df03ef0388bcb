// A corpus as token ids in one file, and every way in which such a file can be wrong.
#include "engine/train/data/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstring>

#include "engine/io/hash_of_version_1.h"
#include "engine/train/tokenizer/bytes_tokenizer.h"
#include "tests/engine/full_disk.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace token_file_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A vocabulary of any size, for what only depends on it.
class Numbers : public BytesTokenizer {
 public:
  explicit Numbers(int32_t size) : size_(size) {}
  std::string name() const override { return "numbers"; }
  int32_t vocab_size() const override { return size_; }
  uint64_t fingerprint() const override { return static_cast<uint64_t>(size_); }

 private:
  int32_t size_;
};

class TokenFileTest : public TestFolder {
 protected:
  std::string write_tokens(const Tokenizer& tokenizer, const std::vector<std::vector<int32_t>>& documents) {
    TokenFileWriter writer(path("x.tokens"), tokenizer);
    for (const auto& document : documents) writer.add(document);
    writer.commit();
    return path("x.tokens");
  }
  std::string open_error(const std::string& file) {
    return error_of([&] { TokenFile opened(file); });
  }
};

TEST_F(TokenFileTest, ReadsBackWhatWasWrittenInTwoAndFourBytes) {
  for (const int32_t vocab : {65536, 65537}) {
    std::filesystem::remove(path("x.tokens"));  // an output replaces no input
    const std::vector<std::vector<int32_t>> documents = {{1, 2, 3}, {}, {vocab - 1, 0}};
    const TokenFile file(write_tokens(Numbers(vocab), documents));
    EXPECT_EQ(file.documents(), 3);
    EXPECT_EQ(file.tokens(), 5);
    for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(file.document(i), documents[static_cast<size_t>(i)]);
    std::vector<int32_t> ids(3);
    file.read(2, 3, ids.data());
    EXPECT_THAT(ids, ElementsAre(3, vocab - 1, 0));
    EXPECT_EQ(file.source().tokenizer, "numbers");
    EXPECT_EQ(file.source().vocab_size, vocab);
    EXPECT_EQ(file.source().end_of_text, 256);
    const size_t token_bytes = vocab == 65536 ? 2 : 4;
    EXPECT_EQ(contents("x.tokens").size(), 64 + (5 * token_bytes + 7) / 8 * 8 + 4 * 8 + 32);
  }
}

TEST_F(TokenFileTest, TheHashTellsTextsOfOneLengthApart) {
  const auto hash = [&](const std::vector<std::vector<int32_t>>& documents) {
    std::filesystem::remove(path("x.tokens"));
    return TokenFile(write_tokens(BytesTokenizer(), documents)).hash();
  };
  EXPECT_EQ(hash({{1, 2, 3}, {4}}), hash({{1, 2, 3}, {4}}));
  EXPECT_NE(hash({{1, 2, 3}, {4}}), hash({{1, 2, 3}, {5}}));
  EXPECT_NE(hash({{1, 2, 3}, {4}}), hash({{1, 2}, {3, 4}}));
}

// A checkpoint of an older version holds the hash of its text, and goes on only with a text of the same hash.
TEST_F(TokenFileTest, TheHashIsTheSameInEveryVersion) {
  const TokenFile file(write_tokens(BytesTokenizer(), {{1, 2, 3}, {4, 5}}));
  EXPECT_EQ(file.hash(), 0x5722d6721a937f70u);
}

TEST_F(TokenFileTest, StreamsDocumentsLargerThanItsBuffer) {
  std::vector<int32_t> large(3'000'000);
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<int32_t>(i * 7 % 257);
  const TokenFile file(write_tokens(BytesTokenizer(), {{5}, large, {6}}));
  EXPECT_EQ(file.document(1), large);
  EXPECT_THAT(file.document(2), ElementsAre(6));
}

TEST_F(TokenFileTest, AnEmptyCorpusIsAFileTooAndReadsNothing) {
  const TokenFile file(write_tokens(BytesTokenizer(), {}));
  EXPECT_EQ(file.documents(), 0);
  EXPECT_EQ(file.tokens(), 0);
}

TEST_F(TokenFileTest, UncommittedNothingIsLeft) {
  { TokenFileWriter writer(path("x.tokens"), BytesTokenizer()); }
  EXPECT_EQ(files_in_folder(), 0u);
}

TEST_F(TokenFileTest, AFileCutAnywhereIsRefusedByName) {
  write_tokens(BytesTokenizer(), {{1, 2, 3}, {4, 5}});
  const std::string whole = contents("x.tokens");
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const std::string message = open_error(write("cut.tokens", whole.substr(0, bytes)));
    ASSERT_THAT(message, AllOf(HasSubstr("cut.tokens"), HasSubstr("shardlens-cli data"))) << bytes;
    ASSERT_THAT(message, HasSubstr(bytes < 64 ? "is not a token file" : "is cut short")) << bytes;
  }
}

TEST_F(TokenFileTest, EveryDamagedBitIsFound) {
  write_tokens(BytesTokenizer(), {{1, 2, 3}, {4, 5}});
  const std::string whole = contents("x.tokens");
  const size_t padding_begin = 64 + 5 * 2, padding_end = 64 + 16;  // zeros that nobody reads
  for (size_t i = 0; i < whole.size(); ++i) {
    if (i >= padding_begin && i < padding_end) continue;
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      ASSERT_THAT(open_error(write("bad.tokens", damaged)), HasSubstr("bad.tokens")) << i << " bit " << bit;
    }
  }
}

// A file whose checksum holds, made by another program: its header says 300 entries, then 200.
TEST_F(TokenFileTest, AnIdOutsideTheVocabularyIsRefusedByItsPlace) {
  for (const int32_t vocab : {300, 70'000}) {
    const size_t token_bytes = vocab == 300 ? 2 : 4;
    write_tokens(Numbers(vocab), {{1, 2, 3}, {}, {4, vocab - 1, 5}});
    std::string bytes = contents("x.tokens");
    const int32_t smaller = 200;
    std::memcpy(bytes.data() + 16, &smaller, sizeof smaller);
    uint64_t hash = 0;
    const auto chain = [&](size_t at, size_t count) {
      const std::array<uint64_t, 2> links = {hash, hash_of_version_1(bytes.data() + at, count)};
      hash = hash_of_version_1(links.data(), sizeof links);
    };
    const size_t index_at = 64 + (6 * token_bytes + 7) / 8 * 8;
    chain(0, 64);
    chain(64, 3 * token_bytes);
    chain(64, 0);
    chain(64 + 3 * token_bytes, 3 * token_bytes);
    chain(index_at, 4 * sizeof(uint64_t));
    std::memcpy(bytes.data() + bytes.size() - 16, &hash, sizeof hash);
    EXPECT_THAT(
        open_error(write("other.tokens", bytes)),
        AllOf(HasSubstr("other.tokens is damaged: token 2 of document 3 is " + std::to_string(vocab - 1)),
              HasSubstr("its vocabulary has 200 entries")));
  }
}

// Many documents in a block, and one that is larger than a block.
TEST_F(TokenFileTest, ReadsManyDocuments) {
  std::vector<std::vector<int32_t>> documents(20'000);
  for (size_t i = 0; i < documents.size(); ++i) documents[i].assign(i % 97, static_cast<int32_t>(i % 257));
  documents[10'000].assign(1'500'000, 9);
  const TokenFile file(write_tokens(BytesTokenizer(), documents));
  for (size_t i = 0; i < documents.size(); i += 99)
    ASSERT_EQ(file.document(static_cast<int64_t>(i)), documents[i]) << i;
  EXPECT_EQ(file.document(10'000), documents[10'000]);
}

// The file is read piece by piece, so one that was cut meanwhile is an error and not a signal.
TEST_F(TokenFileTest, AFileThatShrinksWhileItIsOpenIsNamed) {
  const TokenFile file(write_tokens(BytesTokenizer(), {std::vector<int32_t>(100'000, 7)}));
  std::filesystem::resize_file(path("x.tokens"), 1000);
  EXPECT_THAT(error_of([&] { file.document(0); }), AllOf(HasSubstr("x.tokens ends at byte 1000")));
}

TEST_F(TokenFileTest, APipeIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(path("pipe.tokens").c_str(), 0600), 0);
  EXPECT_THAT(open_error(path("pipe.tokens")), HasSubstr("is not a regular file"));
}

TEST_F(TokenFileTest, OtherFilesAreRefused) {
  EXPECT_THAT(open_error(path("none.tokens")), AllOf(HasSubstr("none.tokens"), HasSubstr("No such file")));
  EXPECT_THAT(open_error(folder_.string()), HasSubstr("is not a regular file"));
  EXPECT_THAT(open_error(write("text.txt", std::string(500, 'x'))),
              HasSubstr("does not begin with SLTOKENS"));
}

TEST_F(TokenFileTest, AnotherTokenizerIsRefusedWithBothNames) {
  const TokenFile file(write_tokens(Numbers(300), {{1}}));
  file.require(Numbers(300));
  EXPECT_THAT(
      error_of([&] { file.require(BytesTokenizer()); }),
      AllOf(HasSubstr("x.tokens"), HasSubstr("numbers (300 entries"), HasSubstr("bytes (257 entries")));
  EXPECT_THAT(error_of([&] { file.require(Numbers(301)); }), HasSubstr("numbers (301 entries"));
  file.require_vocabulary(300);
  EXPECT_THAT(error_of([&] { file.require_vocabulary(299); }), HasSubstr("at least 300"));
}

TEST_F(TokenFileTest, AnIdOutsideTheVocabularyIsNotWritten) {
  TokenFileWriter writer(path("x.tokens"), BytesTokenizer());
  EXPECT_THROW(writer.add(std::vector<int32_t>{257}), std::logic_error);
  EXPECT_THROW(writer.add(std::vector<int32_t>{-1}), std::logic_error);
}

// The limit on a file's size stands for a full disk: the system refuses the write in the middle.
TEST_F(TokenFileTest, AFullDiskIsSaidByNameAndLeavesTheOldFile) {
  write_tokens(BytesTokenizer(), {{1, 2, 3}});
  const std::string message = error_of([&] {
    const testing::FullDisk disk(1'000'000);
    write_tokens(BytesTokenizer(), {std::vector<int32_t>(2'000'000, 7)});
  });
  EXPECT_THAT(message, AllOf(HasSubstr("cannot write"), HasSubstr("x.tokens")));
  EXPECT_EQ(TokenFile(path("x.tokens")).tokens(), 3);
  EXPECT_EQ(files_in_folder(), 1u);
}

}  // namespace token_file_test
}  // namespace shardlens
