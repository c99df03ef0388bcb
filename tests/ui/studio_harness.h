// Drives the real studio with the Dear ImGui Test Engine: simulated mouse and keys, frame by frame. The code
// that draws the window also draws here, without a display. Sizes are small, so a run takes milliseconds.
#pragma once

#include <gtest/gtest.h>
#include <imgui_te_context.h>
#include <imgui_te_engine.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/runtime/snapshot.h"
#include "ui/platform/platform.h"
#include "ui/studio.h"
#include "ui/widgets/tape.h"

namespace shardlens::ui {

/// A layer with GPT-2 small's twelve heads, an eighth as wide, on two sequences of 16 tokens and four ranks.
Settings small_settings();

/// Whether the last frame had this window.
bool is_shown(const char* window);

class StudioHarness {
 public:
  explicit StudioHarness(PixelSize size = {1920, 1080}, const Settings& settings = small_settings(),
                         const std::filesystem::path& state_path = {},
                         Rasterize rasterize = Rasterize::when_read);
  ~StudioHarness();
  StudioHarness(const StudioHarness&) = delete;
  StudioHarness& operator=(const StudioHarness&) = delete;

  /// Runs `steps` as a person at mouse and keyboard would, and fails the current test where a check or an
  /// action fails.
  void perform(const std::function<void(ImGuiTestContext&)>& steps);

  /// Waits until the engine has nothing left to do, and draws what it did.
  void wait_until_at_rest();
  void draw_frames(int count);
  /// Draws frames, as a window would meanwhile, until `is_so`, and a few more. False: it has never been so.
  bool draw_until(const std::function<bool()>& is_so);

  /// Selects the step and scrolls the Stage to its row, so that a person can click it.
  void go_to_step(StepId step);

  Studio& studio() { return *studio_; }
  const Snapshot& snapshot() const { return studio_->snapshot(); }
  ViewState& view() { return studio_->view(); }
  Platform& platform() { return *platform_; }

 private:
  void draw_frame();

  std::unique_ptr<Platform> platform_;
  ImGuiTestEngine* engine_ = nullptr;
  std::unique_ptr<Studio> studio_;
};

/// The window of the last frame whose name holds `part`, such as "##stage_rows"; null: there is none.
ImGuiWindow* window_with(const char* part);

/// Types the words into the palette and presses Enter, and waits for what that does.
void ask_palette(StudioHarness& harness, const std::string& words);

/// Shows the Start page with its lessons read: the cards move when these come, and a click would meet another
/// one.
void open_start_page(StudioHarness& harness);

/// Everything that a frame draws.
std::vector<TapeMark> marks_on_screen(StudioHarness& harness);
/// Every text of it.
std::vector<mark::Words> words_on_screen(StudioHarness& harness);
/// Those that begin inside a window; none where there is no such window.
std::vector<std::string> texts_in(StudioHarness& harness, const char* window);

}  // namespace shardlens::ui
