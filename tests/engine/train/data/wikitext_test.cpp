// WikiText's artefacts are removed before a model reads the text, and counted before they are removed.
#include "engine/train/data/wikitext.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/train/evaluation.h"

namespace shardlens {
namespace wikitext_test {

TEST(WikiText, SignsInsideWordsAndNumbers) {
  EXPECT_EQ(undo_wikitext("a well @-@ known 12 @,@ 500 and 3 @.@ 5 %"), "a well-known 12,500 and 3.5%");
}

TEST(WikiText, PunctuationBelongsToTheWordBefore) {
  EXPECT_EQ(undo_wikitext("Yes , it was ; see : this . Really ? No !"),
            "Yes, it was; see: this. Really? No!");
}

TEST(WikiText, BracketsAndQuotesStandAroundWhatTheyHold) {
  EXPECT_EQ(undo_wikitext("He ( born 1900 [ or so ] ) said \" Stay here . \" and \" go \" ."),
            "He (born 1900 [or so]) said \"Stay here.\" and \"go\".");
  EXPECT_EQ(undo_wikitext("called ' the end ' in $ 5"), "called 'the end' in $5");
  EXPECT_EQ(undo_wikitext("the boys ' house"), "the boys' house");  // no partner: a plural's
  EXPECT_EQ(undo_wikitext("12 \" records"), "12 \" records");       // no partner: as it is
}

TEST(WikiText, EndingsOfWords) {
  EXPECT_EQ(undo_wikitext("the king 's men don 't and they 're"), "the king's men don't and they're");
}

TEST(WikiText, HeadingsLinesAndTheUnknownWord) {
  EXPECT_EQ(undo_wikitext(" \n = Robert <unk> = \n \n = = Early life = = \n He was . \n"),
            "\n= Robert <unk> =\n\n== Early life ==\nHe was.\n");
  EXPECT_EQ(undo_wikitext("x = y = z"), "x = y = z");
  EXPECT_EQ(undo_wikitext(""), "");
}

// So it is invertible: but for spaces and the marks @ around a sign every character stays, in its order.
TEST(WikiText, NothingIsLostButSpacesAndMarks) {
  const std::string raw =
      " = Title = \n A well @-@ known \" play \" of 1 @,@ 000 ( old ) lines ; it 's <unk> . \n";
  const auto bare = [](std::string text) {
    std::erase_if(text, [](char c) { return c == ' ' || c == '@'; });
    return text;
  };
  EXPECT_EQ(bare(undo_wikitext(raw)), bare(raw));
  EXPECT_EQ(undo_wikitext(undo_wikitext(raw)), undo_wikitext(raw)) << "a text is left alone";
  EXPECT_EQ(original_tokens(raw), 24) << "T_o is counted before";
}

}  // namespace wikitext_test
}  // namespace shardlens
