// A corpus from text to opened folder: what is kept, where it is written, and the errors for texts that
// cannot be used.
#include "engine/train/data/corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "engine/io/json.h"
#include "tests/engine/full_disk.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace corpus_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CorpusTest : public TestFolder {
 protected:
  // Documents of 60 random words, a line of JSON each, about 400 bytes.
  static std::string lines(int count, uint32_t seed = 7) {
    std::mt19937 random(seed);
    std::string text;
    for (int i = 0; i < count; ++i) {
      std::string words = "document " + std::to_string(i);
      for (int w = 0; w < 60; ++w) words += " w" + std::to_string(random() % 10000);
      text += nlohmann::json{{"text", words}}.dump() + "\n";
    }
    return text;
  }
  CorpusOptions options(const std::string& text) {
    CorpusOptions options;
    options.sources = {write("text.jsonl", text)};
    return options;
  }
  std::string prepare_error(const CorpusOptions& options) {
    return error_of([&] { prepare_corpus(options, path("corpus")); });
  }
};

TEST_F(CorpusTest, EveryDocumentGoesWholeToOneOfThreeFiles) {
  const CorpusReport report = prepare_corpus(options(lines(100)), path("corpus"));
  EXPECT_EQ(report.documents_read, 100);
  EXPECT_EQ(report.train.documents, 90);
  EXPECT_EQ(report.validation.documents, 5);
  EXPECT_EQ(report.test.documents, 5);
  const Corpus corpus = open_corpus(path("corpus"));
  EXPECT_EQ(corpus.tokenizer->name(), "bytes");
  std::set<std::string> seen;
  for (const auto& file : {corpus.train, corpus.validation, corpus.test}) {
    for (int64_t i = 0; i < file->documents(); ++i) {
      std::vector<int32_t> ids = file->document(i);
      EXPECT_EQ(ids.back(), 256);
      seen.insert(corpus.tokenizer->decode(ids));
    }
  }
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_TRUE(seen.begin()->starts_with("document "));
  EXPECT_EQ(report.train.tokens, corpus.train->tokens());
}

TEST_F(CorpusTest, TheSameTextGivesTheSameBytesAndASeedMovesDocuments) {
  CorpusOptions chosen = options(lines(50));
  prepare_corpus(chosen, path("a"));
  prepare_corpus(chosen, path("b"));
  chosen.seed = 99;
  prepare_corpus(chosen, path("c"));
  EXPECT_EQ(contents("a/train.tokens"), contents("b/train.tokens"));
  EXPECT_EQ(contents("a/test.tokens"), contents("b/test.tokens"));
  EXPECT_NE(contents("a/test.tokens"), contents("c/test.tokens"));
}

TEST_F(CorpusTest, DropsShortDocumentsAndNearDuplicatesAndCleansTheRest) {
  std::string text = lines(40);
  const std::string first = text.substr(0, text.find('\n') + 1);
  text += R"({"text": "too short"})"
          "\n" +
          first;
  std::string dirty(400, 'x');
  for (size_t i = 0; i < dirty.size(); i += 5) dirty[i] = ' ';
  text += nlohmann::json{{"text", "CafÃ©\r\n" + dirty}}.dump() + "\n";
  const CorpusReport report = prepare_corpus(options(text), path("corpus"));
  EXPECT_EQ(report.documents_read, 43);
  EXPECT_EQ(report.documents_short, 1);
  EXPECT_EQ(report.documents_duplicate, 1);
  EXPECT_EQ(report.documents_cleaned, 1);
  EXPECT_EQ(report.train.documents + report.validation.documents + report.test.documents, 41);
  CorpusOptions all = options(text);
  all.jaccard = 1;
  EXPECT_EQ(prepare_corpus(all, path("corpus")).documents_duplicate, 0);
}

TEST_F(CorpusTest, LearnsAVocabularyAndKeepsItBesideTheTokens) {
  CorpusOptions chosen = options(lines(60));
  chosen.tokenizer = "sentencepiece:400";
  EXPECT_EQ(prepare_corpus(chosen, path("corpus")).vocab_size, 400);
  const Corpus corpus = open_corpus(path("corpus"));
  EXPECT_EQ(corpus.tokenizer->name(), "sentencepiece");
  EXPECT_EQ(corpus.train->document(0).back(), *corpus.tokenizer->end_of_text());
  EXPECT_EQ(load_tokenizer(path("corpus"))->fingerprint(), corpus.tokenizer->fingerprint());
  // Prepared again with another tokenizer, nothing of the first is left over.
  chosen.tokenizer = "bytes";
  prepare_corpus(chosen, path("corpus"));
  EXPECT_EQ(open_corpus(path("corpus")).tokenizer->name(), "bytes");
  chosen.tokenizer = path("corpus");  // its own tokenizer, given as a folder
  prepare_corpus(chosen, path("corpus"));
  EXPECT_EQ(open_corpus(path("corpus")).tokenizer->name(), "bytes");
}

TEST_F(CorpusTest, SharesOfZeroMakeNoFile) {
  CorpusOptions chosen = options(lines(1));
  EXPECT_THAT(prepare_error(chosen), HasSubstr("--validation 0"));
  chosen.validation = chosen.test = 0;
  prepare_corpus(chosen, path("corpus"));
  const Corpus corpus = open_corpus(path("corpus"));
  EXPECT_EQ(corpus.train->documents(), 1);
  EXPECT_EQ(corpus.validation, nullptr);
  EXPECT_EQ(corpus.test, nullptr);
}

TEST_F(CorpusTest, AnEmptyCorpusSaysWhy) {
  EXPECT_THAT(prepare_error(options("")), AllOf(HasSubstr("text.jsonl"), HasSubstr("empty")));
  EXPECT_THAT(
      prepare_error(options(R"({"text": "a few words"})"
                            "\n")),
      AllOf(HasSubstr("fewer than 128 tokens"), HasSubstr("the longest 11"), HasSubstr("--min-tokens")));
  EXPECT_THAT(prepare_error({}), HasSubstr("--text"));
  CorpusOptions bad = options(lines(3));
  bad.tokenizer = "sentencepiece:many";
  EXPECT_THAT(prepare_error(bad), HasSubstr("sentencepiece:8000"));
  bad.tokenizer = "bytes";
  bad.validation = 0.7, bad.test = 0.3;
  EXPECT_THAT(prepare_error(bad), HasSubstr("below 1"));
  bad.validation = bad.test = 0.1, bad.jaccard = 0;
  EXPECT_THAT(prepare_error(bad), HasSubstr("Jaccard"));
}

TEST_F(CorpusTest, ARefusedCorpusLeavesTheOldOne) {
  prepare_corpus(options(lines(20)), path("corpus"));
  const std::string before = contents("corpus/train.tokens");
  EXPECT_THAT(prepare_error(options(lines(2))), HasSubstr("cannot be divided"));
  EXPECT_EQ(contents("corpus/train.tokens"), before);
  EXPECT_EQ(open_corpus(path("corpus")).train->documents(), 18);
  EXPECT_FALSE(std::filesystem::exists(path("corpus/documents.tokens")));
}

TEST_F(CorpusTest, AFullDiskIsSaidAndLeavesNoHalfCorpus) {
  const CorpusOptions chosen = options(lines(4000));
  const std::string message = [&] {
    const testing::FullDisk disk(1'500'000);  // the tokens take 3 MB
    return prepare_error(chosen);
  }();
  EXPECT_THAT(message, HasSubstr("cannot write"));
  EXPECT_FALSE(std::filesystem::exists(path("corpus")));
}

TEST_F(CorpusTest, ARefusedCorpusLeavesNoFolderThatWasNotThere) {
  const CorpusOptions few = options(lines(2));
  for (const char* folder : {"new/deep/corpus", "new/deep/corpus/"})
    EXPECT_THAT(error_of([&] { prepare_corpus(few, path(folder)); }), HasSubstr("cannot be divided"));
  EXPECT_FALSE(std::filesystem::exists(path("new")));
  std::filesystem::create_directories(path("there/own"));
  EXPECT_THAT(error_of([&] { prepare_corpus(few, path("there/corpus")); }), HasSubstr("cannot be divided"));
  EXPECT_THAT(error_of([&] { prepare_corpus(few, path("there/own")); }), HasSubstr("cannot be divided"));
  EXPECT_FALSE(std::filesystem::exists(path("there/corpus")));
  EXPECT_TRUE(std::filesystem::is_empty(path("there/own")));
}

TEST_F(CorpusTest, AFolderOfSomethingElseIsRefused) {
  std::filesystem::create_directories(path("corpus"));
  write("corpus/thesis.tex", "mine");
  EXPECT_THAT(prepare_error(options(lines(20))),
              AllOf(HasSubstr("is no corpus (thesis.tex"), HasSubstr("an empty folder")));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path("corpus")), {}), 1);
  // What a kill leaves is no obstacle, nor is what a person put beside a whole corpus.
  std::filesystem::remove(path("corpus/thesis.tex"));
  write("corpus/documents.tokens", "SLTOKENS half");
  write("corpus/train.tokens", "SLTOKENS half");
  prepare_corpus(options(lines(20)), path("corpus"));
  write("corpus/notes.txt", "mine");
  prepare_corpus(options(lines(20)), path("corpus"));
  EXPECT_EQ(contents("corpus/notes.txt"), "mine");
}

TEST_F(CorpusTest, FilesThatDoNotBelongTogetherAreRefused) {
  prepare_corpus(options(lines(20)), path("corpus"));
  CorpusOptions learned = options(lines(60));
  learned.tokenizer = "sentencepiece:400";
  prepare_corpus(learned, path("other"));
  std::filesystem::copy_file(path("other/train.tokens"), path("corpus/train.tokens"),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(error_of([&] { open_corpus(path("corpus")); }),
              AllOf(HasSubstr("train.tokens"), HasSubstr("sentencepiece"), HasSubstr("bytes")));
  std::filesystem::remove(path("corpus/corpus.json"));
  EXPECT_THAT(error_of([&] { open_corpus(path("corpus")); }),
              AllOf(HasSubstr("no corpus.json"), HasSubstr("shardlens-cli data")));
}

// Two that were prepared at once, or copied one over the other: each file alone is sound.
TEST_F(CorpusTest, FilesThatCorpusJsonDoesNotDescribeAreRefused) {
  const auto copied = [&](const char* from, const char* file) {
    std::filesystem::copy_file(path(std::string(from) + "/" + file), path(std::string("corpus/") + file),
                               std::filesystem::copy_options::overwrite_existing);
    return error_of([&] { open_corpus(path("corpus")); });
  };
  prepare_corpus(options(lines(20)), path("corpus"));
  prepare_corpus(options(lines(20)), path("same"));
  prepare_corpus(options(lines(40)), path("longer"));
  std::string other = lines(20);
  other.replace(other.find("document"), 8, "Document");  // as long, with other letters
  CorpusOptions chosen = options(other);
  chosen.seed = 5;
  prepare_corpus(chosen, path("other"));
  EXPECT_EQ(copied("same", "train.tokens"), "no error");
  EXPECT_THAT(copied("longer", "train.tokens"),
              AllOf(HasSubstr("corpus/train.tokens: documents 36, but"), HasSubstr("corpus.json says 18"),
                    HasSubstr("do not belong together"), HasSubstr("shardlens-cli data")));
  copied("same", "train.tokens");
  EXPECT_THAT(copied("longer", "validation.tokens"), HasSubstr("corpus/validation.tokens: documents 2"));
  copied("same", "validation.tokens");
  EXPECT_THAT(copied("other", "train.tokens"),
              AllOf(HasSubstr("corpus/train.tokens: "), HasSubstr("do not belong together")));
  copied("same", "train.tokens");
  std::filesystem::remove(path("corpus/test.tokens"));
  EXPECT_THAT(error_of([&] { open_corpus(path("corpus")); }),
              AllOf(HasSubstr("corpus/test.tokens is missing"), HasSubstr("corpus.json describes it")));
}

TEST_F(CorpusTest, OneRunPreparesAFolderAndTheNextIsRefusedByName) {
  CorpusOptions chosen = options(lines(20));
  std::string second;
  prepare_corpus(chosen, path("corpus"), [&](const CorpusProgress&) {
    if (second.empty()) second = error_of([&] { prepare_corpus(chosen, path("corpus/")); });
  });
  EXPECT_THAT(second, AllOf(HasSubstr("another run is writing to " + path("corpus")), HasSubstr("wait")));
  EXPECT_EQ(open_corpus(path("corpus")).train->documents(), 18);
  EXPECT_FALSE(std::filesystem::exists(path("corpus.lock")));
}

TEST_F(CorpusTest, NothingOfSomebodyElseIsReplaced) {
  std::filesystem::create_directories(path("corpus/tokenizer"));
  write("corpus/tokenizer/vocab.json", "{}");
  EXPECT_THAT(prepare_error(options(lines(20))), HasSubstr("is no corpus (tokenizer"));
  std::filesystem::remove_all(path("corpus"));
  std::filesystem::create_directories(path("corpus"));
  write("corpus/corpus.json", R"({"birds": 7})");
  EXPECT_THAT(prepare_error(options(lines(20))),
              AllOf(HasSubstr("corpus/corpus.json"), HasSubstr("a text, not")));
  EXPECT_EQ(contents("corpus/corpus.json"), R"({"birds": 7})");
  std::filesystem::remove_all(path("corpus"));
  prepare_corpus(options(lines(20)), path("corpus"));
  const std::string facts = contents("corpus/corpus.json");
  CorpusOptions itself = options("");
  itself.sources = {path("corpus/corpus.json")};
  EXPECT_THAT(prepare_error(itself), HasSubstr("which is the text"));
  EXPECT_EQ(contents("corpus/corpus.json"), facts);
}

TEST_F(CorpusTest, FactsThatAreNoneAreNamedByFileAndKey) {
  prepare_corpus(options(lines(20)), path("corpus"));
  const std::pair<const char*, const char*> cases[] = {
      {R"({"version": "x"})", "corpus.json: \"version\" must be a whole number, found \"x\""},
      {R"({})", "corpus.json: the key \"version\" is missing"},
      {R"([1])", "corpus.json: expected an object, found an array"},
      {R"({"version": 2})", "corpus.json does not have version 1"}};
  for (const auto& [facts, why] : cases) {
    write("corpus/corpus.json", facts);
    EXPECT_THAT(error_of([&] { open_corpus(path("corpus")); }), HasSubstr(why));
  }
}

TEST_F(CorpusTest, UnigramEntropyIsThatOfTheCounts) {
  TokenFileWriter writer(path("x.tokens"), *load_tokenizer("bytes"));
  writer.add(std::vector<int32_t>{1, 1, 2, 3});
  writer.commit();
  EXPECT_NEAR(unigram_entropy_nats(TokenFile(path("x.tokens"))), 1.5 * std::log(2.0), 1e-12);
}

// The King James Version tells one story in two chapters almost word for word: 2 Kings 19 and Isaiah 37 have
// a Jaccard similarity of 0.58, no other two chapters more than 0.34.
TEST_F(CorpusTest, TheSampleHasOneNearDuplicateAtOneHalf) {
  CorpusOptions chosen;
  chosen.sources = {"sample"};
  chosen.jaccard = 0.45;
  const CorpusReport report = prepare_corpus(chosen, path("corpus"));
  EXPECT_EQ(report.documents_read, 1189);
  EXPECT_EQ(report.documents_duplicate, 1);
}

}  // namespace corpus_test
}  // namespace shardlens
