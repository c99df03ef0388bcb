// A layout is read as strictly as Dear ImGui writes it: what it would crash on never reaches it.
#include "ui/frame/layout_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "tests/ui/frame/saved_layout.h"

namespace shardlens::ui {
namespace layout_text_test {

using ::testing::HasSubstr;

using Lines = std::vector<std::string>;

Lines sound() {
  std::istringstream text(saved_layout());
  Lines lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

std::string text_of(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

/// Why it is refused; empty if it is accepted.
std::string problem_of(const std::string& text) {
  try {
    check_layout(text);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(LayoutText, WhatDearImGuiWritesIsAccepted) {
  EXPECT_EQ(problem_of(""), "");
  EXPECT_EQ(problem_of(text_of(sound())), "");
}

TEST(LayoutText, WhatDoesNotFitTogetherIsNamedWithItsLine) {
  const auto changed = [](const std::string& from, const std::string& to) {
    std::string text = text_of(sound());
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return problem_of(text.replace(at, from.size(), to));
  };
  const auto without = [](const std::string& part) {
    Lines lines = sound();
    std::erase_if(lines, [&](const std::string& line) { return line.find(part) != std::string::npos; });
    return problem_of(text_of(lines));
  };
  EXPECT_THAT(without("ID=0x00000006 "), HasSubstr("0x00000003 is split and has 1 of its two parts"));
  EXPECT_THAT(without("ID=0x00000003 "), HasSubstr("0x00000003, which this one is part of, is not above it"));
  EXPECT_THAT(changed("DockId=0x00000006", "DockId=0x00000077"), HasSubstr("Inspector is docked in node"));
  EXPECT_THAT(changed("DockId=0x00000006", "DockId=0x00000003"), HasSubstr("which is split"));
  EXPECT_THAT(changed(" CentralNode=1", ""), HasSubstr("has 0 central nodes"));
  EXPECT_THAT(changed("SizeRef=284,589 Hidden", "SizeRef=284,589 CentralNode=1 Hidden"),
              HasSubstr("has 2 central nodes"));
  EXPECT_THAT(changed("ID=0x00000006 P", "ID=0x00000005 P"), HasSubstr("a second dock node"));
  EXPECT_THAT(changed("Parent=0x00000003 SizeRef=284", "Parent=0xB7A3AAE6 SizeRef=284"),
              HasSubstr("a third part"));
  EXPECT_THAT(changed("ID=0x00000003 Parent=0x00000002", "ID=0x00000003 Parent=0x00000003"),
              HasSubstr("is not above it"));
  EXPECT_THAT(changed("589 Split=X", "589"), HasSubstr("has parts and is not split"));
  EXPECT_THAT(changed("Pos=291,628", "Pos=nan,628"), HasSubstr("line 9 of the layout: cannot read"));
  EXPECT_THAT(changed("Size=909,172", "Size=909,-172"), HasSubstr("cannot read"));
  EXPECT_THAT(changed("Size=909,172", "Size=909,99999999999"), HasSubstr("cannot read"));
  EXPECT_THAT(changed("[Docking][Data]", "[Docking][Other]"), HasSubstr("cannot read"));
}

/// Everything a damaged file may have instead of a line, or of a number in it.
std::vector<Lines> harmed() {
  const Lines whole = sound();
  std::vector<Lines> all;
  for (size_t line = 0; line < whole.size(); ++line) {
    Lines without = whole, twice = whole, swapped = whole;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(line));
    twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(line), whole[line]);
    if (line + 1 < whole.size()) std::swap(swapped[line], swapped[line + 1]);
    all.insert(all.end(), {without, twice, swapped});
    const std::string text = whole[line];
    for (size_t at = text.find_first_of("=,"); at != std::string::npos;
         at = text.find_first_of("=,", at + 1)) {
      const size_t end = std::min(text.find_first_of(" ,", at + 1), text.size());
      for (const char* number : {"0", "1", "-1", "32767", "0x00000003", "0xB7A3AAE6", ""}) {
        all.push_back(whole);
        all.back()[line] = text.substr(0, at + 1) + number + text.substr(end);
      }
    }
  }
  return all;
}

// The program ends in this test if a text is accepted that Dear ImGui does not bear.
TEST(LayoutText, WhatIsAcceptedIsDrawn) {
  int accepted = 0, refused = 0;
  for (const Lines& lines : harmed()) {
    const std::string text = text_of(lines);
    if (!problem_of(text).empty()) {
      ++refused;
      continue;
    }
    ++accepted;
    draw_with_layout(text);
  }
  EXPECT_GT(accepted, 60);
  EXPECT_GT(refused, 100);
}

}  // namespace layout_text_test
}  // namespace shardlens::ui
