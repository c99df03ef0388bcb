// BERT's samples: their form, that they depend only on seed and index, and their statistics.
#include "engine/train/data/bert_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "engine/train/data/documents.h"
#include "engine/train/tokenizer/bytes_tokenizer.h"
#include "tests/data_folder.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace bert_samples_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kSeq = 64;

class BertSamplesTest : public TestFolder {
 protected:
  std::shared_ptr<const Tokenizer> tokenizer_ =
      load_tokenizer(test_data_folder() + "/tokenizers/bert-uncased");

  // The first chapters of the sample corpus.
  std::shared_ptr<const TokenFile> chapters(int count) {
    TokenFileWriter writer(path("x.tokens"), *tokenizer_);
    int left = count;
    read_documents("sample", [&](const std::string& chapter, int64_t) {
      if (left-- > 0) writer.add(tokenizer_->encode(chapter));
    });
    writer.commit();
    return std::make_shared<TokenFile>(path("x.tokens"));
  }
  int32_t id(const char* name) const { return *tokenizer_->special(name); }
};

TEST_F(BertSamplesTest, ARowIsTwoPartsOfOneStretchWithSomeTokensHidden) {
  const auto file = chapters(5);
  const BertSamples samples(file, *tokenizer_, kSeq, 1);
  std::vector<int32_t> text(static_cast<size_t>(file->tokens()));
  file->read(0, file->tokens(), text.data());
  const Batch batch = samples.batch(0, samples.count());
  const auto rows = static_cast<size_t>(samples.count());
  ASSERT_EQ(batch.tokens.size(), rows * kSeq);
  ASSERT_EQ(batch.sentence_labels.size(), rows);
  for (size_t row = 0; row < rows; ++row) {
    const auto tokens = std::span(batch.tokens).subspan(row * kSeq, kSeq);
    const auto labels = std::span(batch.labels).subspan(row * kSeq, kSeq);
    std::vector<int32_t> parts[2];
    EXPECT_EQ(tokens[0], id("[CLS]"));
    size_t at = 1;
    for (int32_t part = 0; part < 2; ++part) {
      for (; labels[at] != kIgnoredLabel || tokens[at] != id("[SEP]"); ++at) {
        parts[part].push_back(labels[at] == kIgnoredLabel ? tokens[at] : labels[at]);
        EXPECT_EQ(batch.token_types[row * kSeq + at], part);
      }
      EXPECT_EQ(batch.token_types[row * kSeq + at], part);
      ++at;
      EXPECT_FALSE(parts[part].empty());
    }
    for (size_t i = 0; i < kSeq; ++i) EXPECT_EQ(batch.attention_mask[row * kSeq + i], i < at ? 1 : 0);
    for (; at < kSeq; ++at) {
      EXPECT_EQ(tokens[at], id("[PAD]"));
      EXPECT_EQ(labels[at], kIgnoredLabel);
      EXPECT_EQ(batch.token_types[row * kSeq + at], 0);
    }
    // Put back in order, the parts are a stretch of the text.
    if (batch.sentence_labels[row] == BertSamples::kSwapped) std::swap(parts[0], parts[1]);
    parts[0].insert(parts[0].end(), parts[1].begin(), parts[1].end());
    EXPECT_NE(std::search(text.begin(), text.end(), parts[0].begin(), parts[0].end()), text.end());
  }
}

TEST_F(BertSamplesTest, RowsDependOnSeedAndIndexAlone) {
  const auto file = chapters(5);
  const BertSamples samples(file, *tokenizer_, kSeq, 1);
  const Batch whole = samples.batch(3, 8);
  Batch joined = samples.rows(3, 8, 0, 4);
  const Batch second = samples.rows(3, 8, 4, 4);
  joined.tokens.insert(joined.tokens.end(), second.tokens.begin(), second.tokens.end());
  joined.labels.insert(joined.labels.end(), second.labels.begin(), second.labels.end());
  EXPECT_EQ(joined.tokens, whole.tokens);
  EXPECT_EQ(joined.labels, whole.labels);
  EXPECT_EQ(BertSamples(file, *tokenizer_, kSeq, 1).batch(3, 8).tokens, whole.tokens);
  EXPECT_NE(BertSamples(file, *tokenizer_, kSeq, 2).batch(3, 8).tokens, whole.tokens);
  // The next epoch hides other tokens.
  EXPECT_NE(samples.batch(1, samples.count()).labels, samples.batch(0, samples.count()).labels);
}

TEST_F(BertSamplesTest, TheStatisticsAreThoseOfThePaper) {
  const BertSamples samples(chapters(200), *tokenizer_, kSeq, 7);
  double tokens = 0, labels = 0, masked = 0, same = 0, swapped = 0;
  const Batch batch = samples.batch(0, samples.count());
  for (size_t i = 0; i < batch.tokens.size(); ++i) {
    if (batch.attention_mask[i] == 0 || batch.tokens[i] == id("[CLS]") || batch.tokens[i] == id("[SEP]"))
      continue;
    ++tokens;
    if (batch.labels[i] == kIgnoredLabel) continue;
    ++labels;
    masked += batch.tokens[i] == id("[MASK]");
    same += batch.tokens[i] == batch.labels[i];
  }
  for (const int32_t label : batch.sentence_labels) swapped += label;
  ASSERT_GT(labels, 20000);
  // The budget is rounded in every row: 61 tokens have 9, which is 14.75 %, less what no word fits into.
  EXPECT_NEAR(labels / tokens, 0.147, 0.005);
  EXPECT_NEAR(masked / labels, 0.80, 0.015);
  EXPECT_NEAR(same / labels, 0.10, 0.012);
  EXPECT_NEAR(swapped / static_cast<double>(samples.count()), 0.5, 0.03);
}

TEST_F(BertSamplesTest, WhatCannotBeSaidIsRefused) {
  const auto file = chapters(2);
  EXPECT_THAT(error_of([&] { BertSamples(file, BytesTokenizer(), kSeq, 1); }),
              AllOf(HasSubstr("bytes has no [CLS]"), HasSubstr("wordpiece:N")));
  EXPECT_THAT(error_of([&] { BertSamples(file, *tokenizer_, 15, 1); }), HasSubstr("at least 16"));
  const auto cased = load_tokenizer(test_data_folder() + "/tokenizers/bert-cased");
  EXPECT_THAT(error_of([&] { BertSamples(file, *cased, kSeq, 1); }), HasSubstr("x.tokens was made with"));
  TokenFileWriter writer(path("short.tokens"), *tokenizer_);
  writer.add(std::vector<int32_t>(15, 10));
  writer.commit();
  const auto small = std::make_shared<const TokenFile>(path("short.tokens"));
  EXPECT_THAT(error_of([&] { BertSamples(small, *tokenizer_, kSeq, 1); }), HasSubstr("at least 16 tokens"));
}

TEST_F(BertSamplesTest, WordsBeginAtSpacesAndPunctuation) {
  const WordStarts starts(*tokenizer_);
  std::vector<int32_t> tokens = tokenizer_->encode("unto, the");  // whatever pieces it takes
  const std::vector<int32_t> found = starts.of(tokens);
  std::vector<std::string> words;
  for (size_t i = 0; i < found.size(); ++i) {
    const auto end = i + 1 < found.size() ? static_cast<size_t>(found[i + 1]) : tokens.size();
    words.push_back(tokenizer_->decode(
        std::span(tokens).subspan(static_cast<size_t>(found[i]), end - static_cast<size_t>(found[i]))));
  }
  EXPECT_THAT(words, ElementsAre("unto", ",", "the"));
  // Bytes have words too, and one without end counts as several.
  const WordStarts bytes{BytesTokenizer()};
  EXPECT_THAT(bytes.of(BytesTokenizer().encode("ab cd,e")), ElementsAre(0, 2, 3, 5, 6));
  EXPECT_THAT(bytes.of(BytesTokenizer().encode(std::string(20, 'x'))), ElementsAre(0, 8, 16));
}

TEST(ChooseSpans, LengthsAreOneToThreeWordsInElevenths) {
  std::vector<int32_t> starts;
  for (int32_t word = 0; word < 5000; ++word) starts.push_back(2 * word);  // two tokens per word
  std::map<int32_t, double> lengths;
  double spans = 0;
  for (uint64_t round = 0; round < 100; ++round) {
    Draws draws(1, 2, round);
    for (const MaskedSpan& span : choose_spans(starts, 10000, 300, draws)) {
      EXPECT_EQ(span.count, 2 * span.words);
      ++lengths[span.words];
      ++spans;
    }
  }
  // Some n-grams are cut short by another one's words: 3 % are taken.
  EXPECT_NEAR(lengths[1] / spans, 6.0 / 11, 0.02);
  EXPECT_NEAR(lengths[2] / spans, 3.0 / 11, 0.02);
  EXPECT_NEAR(lengths[3] / spans, 2.0 / 11, 0.02);
}

TEST(ChooseSpans, NeverOverlapNorExceedTheBudgetAndReachIt) {
  std::vector<int32_t> starts = {0, 1, 4, 5, 6, 9, 10, 11, 15, 16};
  for (uint64_t round = 0; round < 500; ++round) {
    for (const int32_t budget : {0, 1, 3, 7, 20}) {
      Draws draws(3, 4, round);
      std::set<int32_t> hidden;
      int32_t total = 0;
      for (const MaskedSpan& span : choose_spans(starts, 20, budget, draws)) {
        EXPECT_NE(std::find(starts.begin(), starts.end(), span.begin), starts.end());
        for (int32_t i = 0; i < span.count; ++i) hidden.insert(span.begin + i);
        total += span.count;
      }
      EXPECT_EQ(hidden.size(), static_cast<size_t>(total));
      EXPECT_LE(total, budget);
      if (budget == 20 || budget == 1) {
        EXPECT_EQ(total, budget);
      }
    }
  }
}

}  // namespace bert_samples_test
}  // namespace shardlens
