// Names and messages reach a terminal without codes that it obeys, and never very long.
#include "engine/base/shown.h"

#include <gtest/gtest.h>

#include "engine/base/suggest.h"
#include "engine/base/utf8.h"

namespace shardlens {
namespace shown_test {

TEST(Shown, WhatATerminalObeysIsEscaped) {
  EXPECT_EQ(printable("\x1b[31mred\a"), "\\x1b[31mred\\x07");
  EXPECT_EQ(printable(std::string_view("a\0b\r", 4)), "a\\x00b\\x0d");
  EXPECT_EQ(printable("\x7f \xc2\x9b"), "\\x7f \\xc2\\x9b") << "some terminals obey U+009B as ESC [";
  EXPECT_EQ(printable("caf\xe9 \xf0\x9f"), "caf\\xe9 \\xf0\\x9f");
}

TEST(Shown, TextIsUnchanged) {
  for (const char* text : {"", "two\nlines\tand a tab", "café", "“…” × 😀", "C:\\x1b"})
    EXPECT_EQ(printable(text), text);
}

TEST(Shown, ANameIsShortAndOnOneLine) {
  EXPECT_EQ(shown("megatorn"), "megatorn");
  EXPECT_EQ(shown("a\nb"), "a\\x0ab");
  EXPECT_EQ(shown(std::string(60, 'x')), std::string(60, 'x'));
  EXPECT_EQ(shown(std::string(100'000, 'x')), std::string(60, 'x') + "…");
  std::string accents;
  for (int i = 0; i < 100; ++i) accents += "é";
  EXPECT_EQ(shown(accents), accents.substr(0, 120) + "…") << "cut between characters";
  EXPECT_TRUE(is_utf8(shown(std::string(59, 'x') + "\xf0\x9f\x98\x80\xf0\x9f\x98\x80")));
}

TEST(Shown, AMessageKeepsItsBeginningAndItsRemedy) {
  const std::string message = "config.json: \"" + std::string(100'000, 'x') + "\" is unknown; known: gpt2";
  const std::string text = message_text(message);
  EXPECT_LT(text.size(), 2500u);
  EXPECT_TRUE(text.starts_with("config.json: \"xxx"));
  EXPECT_TRUE(text.ends_with("known: gpt2"));
  EXPECT_EQ(message_text("short"), "short");
}

TEST(Shown, AnUnknownNameIsShown) {
  const std::string message = unknown_name("split", "\x1b[2J" + std::string(5000, 'x'), {"megatron"}).what();
  EXPECT_TRUE(message.starts_with("unknown split \"\\x1b[2Jxxx")) << message;
  EXPECT_LT(message.size(), 200u);
}

TEST(Utf8, OnlyWholeCharactersAreValid) {
  for (size_t before = 0; before <= 17; ++before) {  // ASCII is read eight bytes at a time
    const std::string ascii(before, 'x');
    for (const char* valid : {"", "a", "é", "€", "😀", "\xf4\x8f\xbf\xbf"})
      EXPECT_TRUE(is_utf8(ascii + valid + ascii)) << ascii << valid;
    for (const char* invalid : {"\x80", "\xc0\xaf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                "\xf8", "\xe2\x82", "caf\xe9.txt"})
      EXPECT_FALSE(is_utf8(ascii + invalid + ascii)) << ascii << printable(invalid);
  }
  EXPECT_EQ(to_utf8("caf\xe9.txt"), "caf\xEF\xBF\xBD.txt");
  EXPECT_EQ(to_utf8("é\xe2\x82"), "é\xEF\xBF\xBD\xEF\xBF\xBD");
}

}  // namespace shown_test
}  // namespace shardlens
