// The memory wall's slider stays where the user left it.
#include <gtest/gtest.h>

#include "engine/config/presets.h"
#include "engine/planner/parameters.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/snapshot.h"
#include "tests/ui/studio_harness.h"
#include "ui/panels/memory/memory_view.h"

namespace shardlens::ui {
namespace memory_wall_test {

Settings layer_of(const char* model) {
  Settings settings = small_settings();
  settings.model = model_preset(model);
  settings.tp = 2;
  settings.batch = 1;
  return settings;
}

/// Returns how many parameters the slider stands at.
double open_memory(StudioHarness& harness) {
  harness.wait_until_at_rest();
  harness.view().tab = Tab::Memory;
  harness.view().focus_tab = true;
  harness.draw_frames(4);
  EXPECT_TRUE(is_shown("Memory"));
  return harness.view().of<MemoryView>().parameters;
}

TEST(MemoryWall, LooksAtTheModelThatIsChosen) {
  StudioHarness harness({1280, 720}, layer_of("gpt2"));
  EXPECT_NEAR(open_memory(harness), 8.3e9, 0.1e9) << "the paper's largest, until one is chosen";
  harness.studio().session().send(command::SetSettings{layer_of("gpt2-medium")});
  harness.wait_until_at_rest();
  EXPECT_EQ(harness.view().of<MemoryView>().parameters,
            static_cast<double>(parameter_count(model_preset("gpt2-medium"))));
}

TEST(MemoryWall, LooksAtTheHardwareThatIsChosen) {
  StudioHarness harness({1280, 720}, layer_of("gpt2"));
  open_memory(harness);
  const auto& view = harness.view().of<MemoryView>();
  EXPECT_EQ(view.device, "v100-32gb") << "until one is chosen";
  const auto choose = [&](const char* hardware) {
    Settings settings = layer_of("gpt2");
    settings.hardware = hardware;
    harness.studio().session().send(command::SetSettings{settings});
    harness.wait_until_at_rest();
    harness.draw_frames(2);
  };
  choose("h200-141gb");
  EXPECT_EQ(view.device, "h200-141gb");
  choose("a100-80gb-2-nodes");
  EXPECT_EQ(view.device, "h200-141gb") << "two nodes are no device";
}

TEST(MemoryWall, KeepsItsModelWhileARecordingIsLookedAt) {
  StudioHarness harness({1280, 720}, layer_of("gpt2"));
  const double before = open_memory(harness);
  EXPECT_GT(before, 1e9);
  harness.studio().open_recording("gallery:training");  // of a toy
  ASSERT_TRUE(harness.draw_until([&] { return harness.studio().replayed().is_open(); }));
  EXPECT_EQ(open_memory(harness), before);
  harness.studio().replay().send(replay_command::Close{});
  ASSERT_TRUE(harness.draw_until([&] { return !harness.studio().replayed().is_open(); }));
  EXPECT_EQ(open_memory(harness), before);
}

}  // namespace memory_wall_test
}  // namespace shardlens::ui
