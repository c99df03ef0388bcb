// What cleaning repairs, and what it must not change.
#include "engine/train/tokenizer/clean_text.h"

#include <gtest/gtest.h>

#include <random>

namespace shardlens {
namespace clean_text_test {

TEST(CleanText, LeavesGoodTextAlone) {
  for (const char* text : {"plain text\n\twith a tab", "Café Ångström naïve", "„Spaß“ – «déjà…» “quoted”",
                           "MAÇÃ” e MAÇÃ…", "clé…” et â…", "中文字符 日本語 한국어", "مرحبا שלום",
                           "👩‍💻 👍🏽 🇩🇪 ❤️", "½ ² £ © ®", "ﬁ ＡＢＣ", ""}) {
    EXPECT_EQ(clean_text(text), text);
  }
}

TEST(CleanText, TurnsBackUtf8ReadAsLatin1) {
  EXPECT_EQ(clean_text("CafÃ© Ã  la carte"),
            "Café Ã  la carte");  // the no-break space was lost: not repairable
  EXPECT_EQ(clean_text("donâ€™t â€œquoteâ€\u009d â€” dash"), "don’t “quote” — dash");
  EXPECT_EQ(clean_text("CORAZÃ“N Ã‘ANDÃš"), "CORAZÓN ÑANDÚ");
  EXPECT_EQ(clean_text("ðŸ˜€ Â£5 Â½"), "😀 £5 ½");
  EXPECT_EQ(clean_text("CafÃƒÂ©"), "Café");  // twice over
}

TEST(CleanText, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(clean_text("a\xFFz"), "a\uFFFDz");
  EXPECT_EQ(clean_text("a\xE4\xB8"), "a\uFFFD");                // cut short
  EXPECT_EQ(clean_text("\xC0\x80"), "\uFFFD\uFFFD");            // overlong
  EXPECT_EQ(clean_text("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate
}

TEST(CleanText, MakesLinesPlainAndDropsControls) {
  EXPECT_EQ(clean_text("a\r\nb\rc\u0085d\u2028e\u2029f"), "a\nb\nc\nd\ne\nf");
  EXPECT_EQ(clean_text(std::string("\uFEFFa\0b\x1B[0m\x7F", 10)), "ab[0m");
}

TEST(CleanText, Composes) {
  EXPECT_EQ(clean_text("e\u0301 \u212B"), "é Å");
}

TEST(CleanText, IsIdempotentOnAnyBytes) {
  std::mt19937 random(3);
  const std::string pieces[] = {"Ã", "©", "â", "€", "™",  "“",  "”", "ð",    "Ÿ",
                                "˜", "a", "Z", " ", "\r", "\n", "Â", "\xFF", "\u0301"};
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (uint32_t i = random() % 12; i > 0; --i) text += pieces[random() % std::size(pieces)];
    const std::string once = clean_text(text);
    EXPECT_EQ(clean_text(once), once) << text;
  }
}

}  // namespace clean_text_test
}  // namespace shardlens
