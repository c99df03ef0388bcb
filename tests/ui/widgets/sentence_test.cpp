// Which first words get a capital letter, and which are names that do not.
#include "ui/widgets/sentence.h"

#include <gtest/gtest.h>

namespace shardlens::ui {
namespace sentence_test {

TEST(Sentence, ProseBeginsWithACapital) {
  EXPECT_EQ(as_sentence("cannot open run.shardlens: no such file"),
            "Cannot open run.shardlens: no such file");
  EXPECT_EQ(as_sentence("cancelled"), "Cancelled");
  EXPECT_EQ(as_sentence("a tournament needs 1 rank"), "A tournament needs 1 rank");
  EXPECT_EQ(as_sentence("hidden = 770 is not divisible by 12 heads"),
            "Hidden = 770 is not divisible by 12 heads");
}

TEST(Sentence, NamesStayAsTheyAreWritten) {
  for (const char* words :
       {"", "T = 5 is not possible", "12 heads are not divisible by 5", "--gpu names GPU 2 twice",
        "gpt2-tiny has no layer 9", "attn.qkv is cut by rows", "run.shardlens is damaged", "fp16 needs a GPU",
        "kv_heads = 5", "f is the identity", "~/run is a folder", "Cannot"})
    EXPECT_EQ(as_sentence(words), words);
}

}  // namespace sentence_test
}  // namespace shardlens::ui
