// Connects the Test Engine with the offscreen platform and runs one simulated user at a time.
#include "tests/ui/studio_harness.h"

#include <imgui_internal.h>

#include <chrono>

#include "engine/base/worker.h"
#include "engine/config/presets.h"
#include "engine/config/splits.h"
#include "ui/panels/start/start_view.h"

namespace shardlens::ui {
namespace {

// Of a window; what is waited for needs the cores meanwhile.
constexpr double kFrameSeconds = 0.016;
constexpr double kTimeoutSeconds = 500;  ///< only turns a hang into a message; a loaded machine is slow

}  // namespace

Settings small_settings() {
  Settings settings;
  settings.model = model_preset("gpt2");
  settings.model.hidden = 96;
  settings.model.ffn = 384;
  settings.split = named_split("megatron");
  settings.tp = 4;
  settings.batch = 2;
  settings.seq = 16;
  return settings;
}

StudioHarness::StudioHarness(PixelSize size, const Settings& settings,
                             const std::filesystem::path& state_path, Rasterize rasterize)
    : platform_(make_offscreen_platform(size, {}, rasterize)), engine_(ImGuiTestEngine_CreateContext()) {
  ImGuiTestEngineIO& io = ImGuiTestEngine_GetIO(engine_);
  io.ConfigRunSpeed = ImGuiTestRunSpeed_Fast;
  io.ConfigVerboseLevel = ImGuiTestVerboseLevel_Warning;
  io.ConfigVerboseLevelOnError = ImGuiTestVerboseLevel_Info;
  io.ConfigLogToTTY = true;
  io.ConfigSavedSettings = false;
  io.ConfigNoThrottle = true;
  io.ConfigCaptureEnabled = false;
  io.ConfigFixedDeltaTime = 1.0f / 60;
  io.ConfigRestoreFocusAfterTests = false;  // what one action brought to the front is there for the next
  ImGuiTestEngine_Start(engine_, ImGui::GetCurrentContext());
  studio_ = std::make_unique<Studio>(settings, platform_->fonts(), state_path);
  draw_frames(4);
}

bool is_shown(const char* window) {
  const ImGuiWindow* const found = ImGui::FindWindowByName(window);
  return found != nullptr && found->Active && !found->Hidden;
}

StudioHarness::~StudioHarness() {
  studio_.reset();
  ImGuiTestEngine_Stop(engine_);
  platform_.reset();  // ends the Dear ImGui context, which the engine must outlive
  ImGuiTestEngine_DestroyContext(engine_);
}

void StudioHarness::draw_frame() {
  platform_->begin_frame();
  studio_->frame();
  platform_->render();
  studio_->write_picture(*platform_);
  platform_->present();
  ImGuiTestEngine_PostSwap(engine_);
}

void StudioHarness::draw_frames(int count) {
  for (int i = 0; i < count; ++i) draw_frame();
}

bool StudioHarness::draw_until(const std::function<bool()>& is_so) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kTimeoutSeconds);
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > end) return false;
    draw_frames(1);
    let_workers_go_on(kFrameSeconds);
  }
  draw_frames(4);
  return true;
}

void StudioHarness::wait_until_at_rest() {
  const std::shared_ptr<const Snapshot> last = studio_->session().wait_until_idle(kTimeoutSeconds);
  ASSERT_TRUE(last->activity.empty()) << "after " << kTimeoutSeconds << " s still " << last->activity;
  draw_frames(3);
}

void StudioHarness::go_to_step(StepId step) {
  select_step(view(), snapshot().plan->program, step);
  view().scroll_to_selection = true;
  draw_frames(4);
}

void StudioHarness::perform(const std::function<void(ImGuiTestContext&)>& steps) {
  ImGuiTest* test = IM_REGISTER_TEST(engine_, "studio", "scripted person");
  test->TestFunc = [&steps](ImGuiTestContext* context) { steps(*context); };
  ImGuiTestEngine_QueueTest(engine_, test);
  while (!ImGuiTestEngine_IsTestQueueEmpty(engine_)) draw_frame();
  EXPECT_EQ(test->Output.Status, ImGuiTestStatus_Success)
      << "an action of the scripted person failed, see above";
  ImGuiTestEngine_UnregisterTest(engine_, test);
}

ImGuiWindow* window_with(const char* part) {
  for (ImGuiWindow* window : ImGui::GetCurrentContext()->Windows)
    if (window->WasActive && std::string_view(window->Name).find(part) != std::string_view::npos)
      return window;
  return nullptr;
}

void ask_palette(StudioHarness& harness, const std::string& words) {
  harness.perform([&](ImGuiTestContext& person) {
    person.KeyPress(ImGuiMod_Ctrl | ImGuiKey_P);
    person.KeyChars(words.c_str());
    person.KeyPress(ImGuiKey_Enter);
  });
  harness.wait_until_at_rest();
  harness.draw_frames(4);
}

void open_start_page(StudioHarness& harness) {
  harness.wait_until_at_rest();
  harness.view().tab = Tab::Start;
  harness.view().focus_tab = true;
  harness.draw_frames(4);
  harness.view().of<StartView>().shelf->wait();
  harness.draw_frames(4);
}

std::vector<TapeMark> marks_on_screen(StudioHarness& harness) {
  Tape tape;
  ImGui::GetIO().UserData = &tape;
  harness.draw_frames(1);
  ImGui::GetIO().UserData = nullptr;
  return tape.marks();
}

std::vector<mark::Words> words_on_screen(StudioHarness& harness) {
  std::vector<mark::Words> found;
  for (const TapeMark& one : marks_on_screen(harness))
    if (const auto* words = std::get_if<mark::Words>(&one.what)) found.push_back(*words);
  return found;
}

std::vector<std::string> texts_in(StudioHarness& harness, const char* window) {
  std::vector<std::string> texts;
  const ImGuiWindow* const drawn = ImGui::FindWindowByName(window);
  if (drawn == nullptr) return texts;
  const ImRect inside = drawn->Rect();
  for (const mark::Words& words : words_on_screen(harness))
    if (inside.Contains(words.at)) texts.push_back(words.text);
  return texts;
}

}  // namespace shardlens::ui
