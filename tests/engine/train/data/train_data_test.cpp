// What a training text is, told by its bytes and not by its name.
#include "engine/train/data/train_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/config/presets.h"
#include "engine/train/tokenizer/bytes_tokenizer.h"
#include "tests/engine/io/test_folder.h"

namespace shardlens {
namespace train_data_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using TrainDataTest = TestFolder;

// WikiText's files are plain texts with the name that our token files have.
TEST_F(TrainDataTest, ATokenFileIsToldByItsBytes) {
  const Model model = model_preset("gpt2-tiny");
  TokenFileWriter writer(path("corpus.bin"), BytesTokenizer());
  writer.add(std::vector<int32_t>{1, 2, 3});
  writer.commit();
  EXPECT_EQ(open_train_data(path("corpus.bin"), "bytes", model).train->tokens(), 3);
  const std::string text = write("wiki.train.tokens", " = Title = \n words of a text \n");
  EXPECT_GT(open_train_data(text, "bytes", model).train->tokens(), 20);
}

TEST_F(TrainDataTest, WhatWasLeftOutIsHandedOn) {
  const std::string text =
      write("x.json", "{\"text\": \"one two\"}\n{\"text\": \"\\ud800\"}\n{\"text\": \"three\"}\n");
  EXPECT_THAT(open_train_data(text, "bytes", model_preset("gpt2-tiny")).left_out,
              ElementsAre(HasSubstr("1 line of " + text + " is not text and was left out: line 2 (")));
  const std::string none = write("none.jsonl", "{\"text\": \"\\ud800\"}\n");
  EXPECT_THAT(error_of([&] { open_train_data(none, "bytes", model_preset("gpt2-tiny")); }),
              HasSubstr("the corpus is empty. 1 line of "));
}

}  // namespace train_data_test
}  // namespace shardlens
