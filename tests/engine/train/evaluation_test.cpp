// Compares perplexity and cloze accuracy with values computed token by token with the same model.
#include "engine/train/evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/config/assets.h"
#include "engine/planner/planner.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/plan.h"
#include "engine/train/data/bert_samples.h"
#include "engine/train/data/train_data.h"
#include "engine/train/model_state.h"
#include "engine/train/tokenizer/bytes_tokenizer.h"
#include "engine/train/tokenizer/wordpiece_tokenizer.h"
#include "engine/train/trainer.h"
#include "tests/engine/io/test_folder.h"
#include "tests/engine/small_model.h"

namespace shardlens {
namespace evaluation_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::small_model;

const std::string kText = "In the beginning God created the heaven\nand the earth.";

Settings byte_model(int tp, int dp = 1) {
  Settings settings = small_model(tp, dp);
  settings.dtype = DType::Fp64;
  settings.model.vocab = 257;
  settings.model.positions = 64;
  settings.seq = 16;
  settings.batch = 2;
  return settings;
}

// -log p of every token of `ids` but the first, and whether it was the likeliest, each from a window that
// begins at `start(i)`.
struct Scores {
  double nats = 0;
  std::vector<bool> likeliest;
};
Scores one_by_one(Settings settings, const std::vector<int32_t>& ids,
                  const std::function<int64_t(int64_t)>& start) {
  settings.batch = 1;
  const auto plan = make_plan(plan_evaluation(settings));
  Executor executor(plan);
  executor.wait();
  TensorId logits = kNoTensor;
  for (const Tensor& tensor : plan->program.tensors)
    if (tensor.name == "logits") logits = tensor.id;
  const auto columns = static_cast<size_t>(plan->program.tensor(logits).shape[1]);
  Scores scores;
  for (int64_t i = 1; i < static_cast<int64_t>(ids.size()); ++i) {
    auto batch = std::make_shared<Batch>();
    batch->tokens.assign(ids.begin() + start(i), ids.begin() + i);
    const size_t row = batch->tokens.size() - 1;
    batch->tokens.resize(static_cast<size_t>(settings.seq), 0);
    batch->labels.assign(static_cast<size_t>(settings.seq), kIgnoredLabel);
    PassInputs inputs;
    inputs.batch = batch;
    executor.next_pass(inputs);
    executor.start(executor.steps());
    executor.wait();
    const auto whole = read_whole(executor, plan->program, logits);
    double highest = -INFINITY, sum = 0;
    for (size_t j = 0; j < 257; ++j)
      highest = std::max(highest, element_of(DType::Fp64, whole.data(), row * columns + j));
    for (size_t j = 0; j < 257; ++j)
      sum += std::exp(element_of(DType::Fp64, whole.data(), row * columns + j) - highest);
    const double target = element_of(DType::Fp64, whole.data(),
                                     row * columns + static_cast<size_t>(ids[static_cast<size_t>(i)]));
    scores.nats += highest + std::log(sum) - target;
    scores.likeliest.push_back(target == highest);
  }
  return scores;
}

TEST(Perplexity, IsThatOfOverlappingWindowsWhateverTAndD) {
  std::vector<int32_t> ids = BytesTokenizer().encode(kText);
  ids.insert(ids.begin(), 256);
  // The first window scores its 16 targets; each one after it advances by 5 and scores the last 5.
  const auto start = [](int64_t i) { return i <= 16 ? 0 : (i - 16 + 4) / 5 * 5; };
  const double nats = one_by_one(byte_model(1), ids, start).nats;
  for (const auto& [tp, dp] : {std::pair{1, 1}, {3, 1}, {2, 2}}) {
    const Perplexity p = evaluate_perplexity(byte_model(tp, dp), BytesTokenizer(), kText, 5, 0);
    EXPECT_NEAR(p.nats, nats, 1e-10) << tp;
    EXPECT_EQ(p.tokens, static_cast<int64_t>(kText.size()));
    EXPECT_EQ(p.words, 11);  // ten words and a line end
    EXPECT_NEAR(p.perplexity, std::exp(nats / 11), 1e-6 * p.perplexity);
  }
  EXPECT_EQ(evaluate_perplexity(byte_model(1), BytesTokenizer(), kText, 5, 7).words, 7);
}

TEST(Perplexity, CountsWordsAndLineEndsOfTheTextWithoutItsMargins) {
  EXPECT_EQ(original_tokens("  a b\n c \n\n"), 4);
  EXPECT_EQ(original_tokens(" \n "), 0);
}

TEST(Cloze, AsksForEveryTokenOfTheLastWord) {
  const std::vector<ClozeText> texts{{"a b", "1"},
                                     {"the end of it all", "2"},
                                     {"one two  three \n", "3"},
                                     {"a much longer text than a window holds, at last", "4"}};
  int64_t correct = 0;
  for (const auto& [text, where] : texts) {
    const std::string trimmed = text.substr(0, text.find_last_not_of(" \n") + 1);
    const std::vector<int32_t> ids = BytesTokenizer().encode(trimmed);
    const auto tokens = static_cast<int64_t>(ids.size());
    const Scores scores =
        one_by_one(byte_model(1), ids, [&](int64_t i) { return std::clamp<int64_t>(tokens - 17, 0, i - 1); });
    const size_t context = trimmed.find_last_not_of(' ', trimmed.rfind(' ')) + 1;
    bool all = true;
    for (size_t i = context; i < ids.size(); ++i) all = all && scores.likeliest[i - 1];
    correct += all;
  }
  for (const auto& [tp, dp] : {std::pair{1, 1}, {3, 1}, {2, 2}}) {
    const Cloze cloze = evaluate_cloze(byte_model(tp, dp), BytesTokenizer(), texts);
    EXPECT_EQ(cloze.examples, 4);
    EXPECT_EQ(cloze.correct, correct);
  }
}

using ClozeFile = TestFolder;

// A model that has learned to say "a a a a" knows how it goes on, and not how "a a b" does.
TEST_F(ClozeFile, ATrainedModelIsRightWhereItShouldBe) {
  struct Repeats : BatchSource {
    Batch batch(int64_t) const override { return rows(0, 2); }
    Batch rows(int64_t, int64_t count) const override {
      Batch batch;
      for (int64_t i = 0; i < 16 * count; ++i) batch.tokens.push_back(i % 2 == 0 ? 'a' : ' ');
      for (int64_t i = 0; i < 16 * count; ++i) batch.labels.push_back(i % 2 == 0 ? ' ' : 'a');
      return batch;
    }
    int64_t row_count() const override { return 2; }
  };
  TrainOptions options;
  options.settings = byte_model(2);
  options.schedule = {1e-2, 1e-2, 0, 40, Decay::Constant};
  options.checkpoint = path("run");
  Trainer trainer(options, std::make_shared<Repeats>(), nullptr);
  while (trainer.step().loss > 0.05) ASSERT_LT(trainer.steps_done(), 100);
  trainer.save();
  Settings settings = byte_model(3);
  settings.weights_path = path("run/model.safetensors");
  const Cloze cloze = evaluate_cloze(settings, BytesTokenizer(),
                                     {{"a a a a", "1"}, {"a a a b", "2"}, {"a a a aa", "3"}, {"a a", "4"}});
  EXPECT_EQ(cloze.correct, 2);
  EXPECT_EQ(cloze.examples, 4);
}

// A BERT and a text for it: a vocabulary of 120 entries, rows of 24 tokens.
struct BertAndText {
  std::shared_ptr<const WordPieceTokenizer> tokenizer;
  std::shared_ptr<const TokenFile> text;
  Settings settings;
};

class MaskedWordsTest : public TestFolder {
 protected:
  BertAndText bert(int tp, int dp = 1) {
    const std::string words = std::string(asset("text/genesis.txt")).substr(0, 1500);
    BertAndText out{WordPieceTokenizer::train({words}, 120), nullptr, testing::small_bert(tp, dp)};
    std::vector<std::string> left_out;
    out.text = tokenise(write("words.txt", words), *out.tokenizer, left_out);
    out.settings.dtype = DType::Fp64;
    out.settings.model.vocab = 120;
    out.settings.model.positions = out.settings.seq = 24;
    return out;
  }
};

// What the logits of each row say, row by row.
TEST_F(MaskedWordsTest, AreCountedAsTheLogitsSayWhateverTAndD) {
  const BertAndText one = bert(1);
  const BertSamples samples(one.text, *one.tokenizer, 24, one.settings.seed);
  Settings settings = one.settings;
  settings.batch = 1;
  const auto plan = make_plan(plan_evaluation(settings));
  Executor executor(plan);
  executor.wait();
  const auto logits = std::find_if(plan->program.tensors.begin(), plan->program.tensors.end(),
                                   [](const Tensor& tensor) { return tensor.name == "logits"; });
  const auto columns = static_cast<size_t>(logits->shape[1]);
  MaskedWords expected;
  for (int64_t row = 0; row < samples.count(); ++row) {
    PassInputs inputs;
    inputs.batch = std::make_shared<const Batch>(samples.batch(row, 1));
    executor.next_pass(inputs);
    executor.start(executor.steps());
    executor.wait();
    const auto whole = read_whole(executor, plan->program, logits->id);
    for (size_t at = 0; at < 24; ++at) {
      const int32_t label = inputs.batch->labels[at];
      if (label == kIgnoredLabel) continue;
      double sum = 0, highest = -INFINITY;
      for (size_t j = 0; j < 120; ++j) {
        const double logit = element_of(DType::Fp64, whole.data(), at * columns + j);
        sum += std::exp(logit);
        highest = std::max(highest, logit);
      }
      const double logit = element_of(DType::Fp64, whole.data(), at * columns + static_cast<size_t>(label));
      expected.nats += std::log(sum) - logit;
      expected.tokens_found += logit == highest;
      ++expected.tokens;
    }
  }
  for (const auto& [tp, dp] : {std::pair{1, 1}, {3, 1}, {2, 2}}) {
    BertAndText sharded = bert(tp, dp);
    sharded.settings.batch = samples.count() - 2;
    const MaskedWords m = evaluate_masked_words(sharded.settings, *sharded.tokenizer, sharded.text);
    EXPECT_EQ(m.rows, samples.count());  // the last batch is not full
    EXPECT_NE(m.rows % sharded.settings.batch, 0);
    EXPECT_EQ(m.tokens, expected.tokens);
    EXPECT_EQ(m.tokens_found, expected.tokens_found);
    EXPECT_NEAR(m.nats, expected.nats, 1e-9);
    EXPECT_NEAR(m.order_nats / static_cast<double>(m.rows), std::log(2.0), 0.1);
    EXPECT_LE(m.orders_found, m.rows);
  }
}

// What it has learned by heart it finds again; the hidden words of another seed it mostly does not.
TEST_F(MaskedWordsTest, ATrainedModelFindsThem) {
  const BertAndText words = bert(2);
  TrainOptions options;
  options.settings = words.settings;
  options.schedule = {1e-2, 1e-2, 10, 400, Decay::Constant};
  options.checkpoint = path("run");
  Trainer trainer(options, make_batches(words.text, *words.tokenizer, words.settings, words.settings.seed),
                  nullptr);
  for (int step = 0; step < 150; ++step) trainer.step();
  trainer.save();
  Settings settings = words.settings;
  const MaskedWords before = evaluate_masked_words(settings, *words.tokenizer, words.text);
  settings.weights_path = path("run/model.safetensors");
  const MaskedWords after = evaluate_masked_words(settings, *words.tokenizer, words.text);
  EXPECT_GT(after.accuracy(), 2 * before.accuracy());
  EXPECT_LT(after.nats, 0.8 * before.nats);
}

TEST_F(MaskedWordsTest, AreABertsTask) {
  const BertAndText words = bert(1);
  EXPECT_THAT(error_of([&] { evaluate_masked_words(byte_model(1), *words.tokenizer, words.text); }),
              HasSubstr("next token"));
}

TEST(Evaluation, BadInputIsNamed) {
  const BytesTokenizer bytes;
  Settings small = small_model(1);
  EXPECT_THAT(error_of([&] { evaluate_perplexity(small, bytes, kText, 5, 0); }),
              AllOf(HasSubstr("257 ids"), HasSubstr("53")));
  EXPECT_THAT(error_of([&] { evaluate_perplexity(byte_model(1), bytes, " \n", 5, 0); }), HasSubstr("empty"));
  EXPECT_THAT(error_of([&] { evaluate_perplexity(byte_model(1), bytes, kText, 17, 0); }),
              HasSubstr("1 to 16"));
  EXPECT_THAT(
      error_of([&] {
        evaluate_cloze(byte_model(1), bytes, {{"fine text", "x.jsonl, line 1"}, {"word", "x.jsonl, line 3"}});
      }),
      HasSubstr("x.jsonl, line 3: the text has no word before its last one: \"word\""));
  EXPECT_THAT(error_of([&] {
                evaluate_cloze(byte_model(1), bytes, {{"a supercalifragilistic", "x.jsonl, line 7"}});
              }),
              HasSubstr("x.jsonl, line 7: the last word alone is longer than a window"));
  EXPECT_THAT(error_of([&] { evaluate_perplexity(testing::small_bert(1), bytes, kText, 5, 0); }),
              HasSubstr("encoder"));
}

TEST_F(ClozeFile, IsReadLineByLine) {
  std::vector<std::string> left_out;
  const auto read = [&](const std::string& file) { return read_cloze_file(file, left_out); };
  const std::vector<ClozeText> texts =
      read(write("c.jsonl", "{\"text\": \"a b\"}\n\n{\"text\": \"c d\", \"id\": 2}\n"));
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_EQ(texts[0].text + texts[1].text, "a bc d");
  EXPECT_EQ(texts[1].where, path("c.jsonl") + ", line 3");
  EXPECT_TRUE(left_out.empty());
  EXPECT_THAT(error_of([&] { read(write("d.jsonl", "{\"text\": \"a b\"}\n{\"txt\": 1}\n")); }),
              AllOf(HasSubstr("d.jsonl, line 2"), HasSubstr("text")));
  EXPECT_THAT(error_of([&] { read(write("e.jsonl", "\n")); }), HasSubstr("e.jsonl"));
  EXPECT_THAT(error_of([&] { read(path("absent")); }), HasSubstr("absent"));
  EXPECT_EQ(read(write("f.jsonl", "{\"text\": \"a b\"}\n{\"text\": \"a \\ud800\"}\n")).size(), 1u);
  EXPECT_THAT(left_out, ::testing::ElementsAre(HasSubstr("f.jsonl is not text and was left out: line 2 (")));
}

}  // namespace evaluation_test
}  // namespace shardlens
