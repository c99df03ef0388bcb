// A layout is read as strictly as Dear ImGui writes it: what it would crash on never reaches it.
#include "ui/frame/layout_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "engine/base/error.h"

namespace shardlens::ui {
namespace layout_text_test {

using ::testing::HasSubstr;

/// Three panels and the tabs, as they are saved after a person has moved a border.
constexpr std::array kLines{"[Window][Setup]",
                            "Pos=0,38",
                            "Size=290,762",
                            "Collapsed=0",
                            "DockId=0x00000001,0",
                            "LastUsed=20261128",
                            "",
                            "[Window][Timeline]",
                            "Pos=291,628",
                            "Size=909,172",
                            "Collapsed=0",
                            "DockId=0x00000004,0",
                            "",
                            "[Window][Inspector]",
                            "Pos=916,38",
                            "Size=284,589",
                            "Collapsed=0",
                            "DockId=0x00000006,0",
                            "",
                            "[Window][Stage]",
                            "Pos=291,38",
                            "Size=624,589",
                            "Collapsed=0",
                            "DockId=0x00000005,1",
                            "",
                            "[Docking][Data]",
                            "DockSpace       ID=0xB7A3AAE6 Window=0x47979DB6 Pos=0,38 Size=1200,762 Split=X",
                            "  DockNode      ID=0x00000001 Parent=0xB7A3AAE6 SizeRef=290,762 HiddenTabBar=1",
                            "  DockNode      ID=0x00000002 Parent=0xB7A3AAE6 SizeRef=909,762 Split=Y",
                            "    DockNode    ID=0x00000003 Parent=0x00000002 SizeRef=970,589 Split=X",
                            "      DockNode  ID=0x00000005 Parent=0x00000003 SizeRef=624,589 CentralNode=1",
                            "      DockNode  ID=0x00000006 Parent=0x00000003 SizeRef=284,589 HiddenTabBar=1",
                            "    DockNode    ID=0x00000004 Parent=0x00000002 SizeRef=969,172 HiddenTabBar=1",
                            ""};

using Lines = std::vector<std::string>;

Lines sound() {
  return {kLines.begin(), kLines.end()};
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
  std::vector<Lines> all;
  for (size_t line = 0; line < kLines.size(); ++line) {
    Lines without = sound(), twice = sound(), swapped = sound();
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(line));
    twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(line), kLines[line]);
    if (line + 1 < kLines.size()) std::swap(swapped[line], swapped[line + 1]);
    all.insert(all.end(), {without, twice, swapped});
    const std::string text = kLines[line];
    for (size_t at = text.find_first_of("=,"); at != std::string::npos;
         at = text.find_first_of("=,", at + 1)) {
      const size_t end = std::min(text.find_first_of(" ,", at + 1), text.size());
      for (const char* number : {"0", "1", "-1", "32767", "0x00000003", "0xB7A3AAE6", ""}) {
        all.push_back(sound());
        all.back()[line] = text.substr(0, at + 1) + number + text.substr(end);
      }
    }
  }
  return all;
}

/// A start of Dear ImGui by itself: it reads the text before its first frame, and then shows the panels as
/// the studio does.
void draw_with(const std::string& layout) {
  ImGuiContext* const before = ImGui::GetCurrentContext();
  ImGuiContext* const gui = ImGui::CreateContext();
  ImGui::SetCurrentContext(gui);
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.ConfigFlags |= ImGuiConfigFlags_DockingEnable;
  io.BackendFlags |= ImGuiBackendFlags_RendererHasTextures;
  io.DisplaySize = {1200, 800};
  ImGui::LoadIniSettingsFromMemory(layout.data(), layout.size());
  for (int frame = 0; frame < 4; ++frame) {
    io.DeltaTime = 1.0F / 60;
    ImGui::NewFrame();
    ImGui::SetNextWindowPos({0, 38});
    ImGui::SetNextWindowSize({1200, 762});
    ImGui::Begin("##dock host", nullptr, ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoSavedSettings);
    ImGui::DockSpace(ImGui::GetID("panels"), {0, 0}, ImGuiDockNodeFlags_AutoHideTabBar);
    ImGui::End();
    for (const char* panel : {"Setup", "Stage", "Inspector", "Timeline"}) {
      ImGui::Begin(panel);
      ImGui::End();
    }
    ImGui::Render();
    for (ImTextureData* texture : ImGui::GetPlatformIO().Textures) texture->SetStatus(ImTextureStatus_OK);
  }
  for (ImTextureData* texture : ImGui::GetPlatformIO().Textures)
    texture->SetStatus(ImTextureStatus_Destroyed);
  ImGui::DestroyContext(gui);
  ImGui::SetCurrentContext(before);
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
    draw_with(text);
  }
  EXPECT_GT(accepted, 60);
  EXPECT_GT(refused, 100);
}

}  // namespace layout_text_test
}  // namespace shardlens::ui
