// One joined list draws what many drew: the same corners in the same order, under the same commands.
#include "ui/platform/joined_lists.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "ui/platform/platform.h"

namespace shardlens {
namespace joined_lists_test {

using Corner = std::tuple<float, float, ImU32, float, const void*>;  // with the left edge of its clip

std::vector<Corner> corners_of(const ImDrawData& data) {
  std::vector<Corner> all;
  for (const ImDrawList* list : data.CmdLists) {
    for (const ImDrawCmd& command : list->CmdBuffer) {
      if (command.UserCallback != nullptr) {
        all.emplace_back(0, 0, 0, 0, nullptr);
        continue;
      }
      for (unsigned i = 0; i < command.ElemCount; ++i) {
        const auto vertex = command.VtxOffset + list->IdxBuffer[static_cast<int>(command.IdxOffset + i)];
        const ImDrawVert& at = list->VtxBuffer[static_cast<int>(vertex)];
        all.emplace_back(at.pos.x, at.pos.y, at.col, command.ClipRect.x, command.TexRef._TexData);
      }
    }
  }
  return all;
}

// More vertices than 16 bits count, so Dear ImGui itself begins anew within a list.
TEST(JoinedLists, DrawTheSame) {
  const auto platform = make_offscreen_platform({640, 400});
  platform->begin_frame();
  ImDrawList* const lists[] = {ImGui::GetBackgroundDrawList(), ImGui::GetForegroundDrawList()};
  for (int i = 0; i < 40'000; ++i) {
    const auto at = static_cast<float>(i % 600);
    ImDrawList* const list = lists[i % 7 == 0];
    if (i % 1000 == 0) list->PushClipRect({at, 0}, {640, 400});
    list->AddRectFilled({at, at / 2}, {at + 30, at / 2 + 20}, IM_COL32(i % 256, 100, 200, 255));
    if (i % 1000 == 500) list->PopClipRect();
    if (i % 9000 == 0) list->AddCallback([](const ImDrawList*, const ImDrawCmd*) {}, nullptr);
  }
  ImGui::Render();
  ImDrawData data = *ImGui::GetDrawData();
  const std::vector<Corner> before = corners_of(data);
  ASSERT_GT(before.size(), 6u * 40'000);
  ImDrawList joined(ImGui::GetDrawListSharedData());
  join_lists(data, joined);
  EXPECT_EQ(data.CmdLists.Size, 1);
  EXPECT_EQ(corners_of(data), before);
}

}  // namespace joined_lists_test
}  // namespace shardlens
