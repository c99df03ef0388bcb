// The page of each rank's memory names what a lesson names: the activations in one figure, above the bars.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/units.h"
#include "engine/config/presets.h"
#include "engine/runtime/snapshot.h"
#include "tests/ui/studio_harness.h"
#include "ui/panels/memory/memory_view.h"

namespace shardlens::ui {
namespace memory_layer_test {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> texts_of(StudioHarness& harness) {
  harness.wait_until_at_rest();
  harness.view().tab = Tab::Memory;
  harness.view().focus_tab = true;
  harness.view().of<MemoryView>().this_layer = true;
  harness.draw_frames(4);
  EXPECT_TRUE(is_shown("Memory"));
  return texts_in(harness, "Memory");
}

TEST(MemoryLayer, NamesTheActivationsWhereverTheyLie) {
  StudioHarness harness;
  harness.wait_until_at_rest();
  const MemoryPlan& memory = harness.snapshot().plan->memory.front();
  const auto activations = static_cast<size_t>(MemoryKind::Activation);
  ASSERT_GT(memory.borrowed_bytes[activations], 0) << "else the bars show the same figure";
  const std::string held = bytes_text(static_cast<double>(memory.held_bytes[activations]));
  const std::vector<std::string> texts = texts_of(harness);
  EXPECT_THAT(texts, Contains(fmt::format("Activations: {} on rank 0, the most at once.", held)));
  EXPECT_THAT(texts, Contains("This layer, rank by rank"));
}

// Two ranks do not hold the whole model each: a replica does.
TEST(MemoryLayer, SaysWhoHoldsTheWholeModel) {
  Settings settings = small_settings();
  settings.model = model_preset("gpt2-tiny");
  settings.block = Block::Model;
  settings.tp = 2;
  settings.dp = 2;
  StudioHarness harness({1280, 720}, settings);
  const std::string all = fmt::format("{}", fmt::join(texts_of(harness), " "));
  EXPECT_THAT(all, HasSubstr("Each of 2 replicas holds the whole model, shared by its 2 ranks."));
  EXPECT_THAT(all, Not(HasSubstr("on each rank")));
}

}  // namespace memory_layer_test
}  // namespace shardlens::ui
