// A person who clicks, types and changes settings at random, while runs come and go. No frame may fail, and
// no panel may say that it cannot be drawn.
//
//   SHARDLENS_PERSON_SECONDS=600 SHARDLENS_SEED=1 ui_tests --gtest_filter='RandomPerson.*'
#include <gmock/gmock.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <random>

#include "engine/base/worker.h"
#include "engine/config/presets.h"
#include "engine/config/splits.h"
#include "engine/lesson/built_in.h"
#include "engine/program/fault.h"
#include "engine/train/experiments/break_snapshot.h"
#include "tests/engine/io/test_folder.h"
#include "tests/ui/studio_harness.h"
#include "ui/commands/commands.h"
#include "ui/panels/train/train_view.h"

namespace shardlens::ui {
namespace random_person_test {

using Clock = std::chrono::steady_clock;

constexpr double kSeconds = 5;
constexpr uint64_t kSeed = 59;
constexpr size_t kRemembered = 40;  // actions that a failure shows

double wish(const char* name, double otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtod(text, nullptr);
}

/// Keeps what the studio logs of a panel that it could not draw.
class Heard : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::string not_drawn;

 protected:
  void sink_it_(const spdlog::details::log_msg& said) override {
    const std::string words(said.payload.begin(), said.payload.end());
    if (words.find("cannot be drawn") != std::string::npos) not_drawn = words;
  }
  void flush_() override {}
};

/// Everything is written into the test's folder: what the person exports goes to the current one.
class RandomPerson : public TestFolderWithCache {
 protected:
  void SetUp() override {
    TestFolderWithCache::SetUp();
    before_ = std::filesystem::current_path();
    std::filesystem::current_path(folder_);
    setenv("XDG_DATA_HOME", path("data").c_str(), 1);
    logger_ = spdlog::default_logger();
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("heard", heard_));
  }
  void TearDown() override {
    harness_.reset();  // it may be writing into the folder
    spdlog::set_default_logger(logger_);
    unsetenv("XDG_DATA_HOME");
    std::filesystem::current_path(before_);
    TestFolderWithCache::TearDown();
  }

  size_t below(size_t limit) { return static_cast<size_t>(random_() % limit); }
  bool one_in(size_t count) { return below(count) == 0; }

  void did(std::string what) {
    done_.push_back(std::move(what));
    if (done_.size() > kRemembered) done_.erase(done_.begin());
  }
  std::string last_actions() const {
    std::string text;
    for (const std::string& one : done_) text += "\n  " + one;
    return text;
  }

  Settings any_settings() {
    Settings settings = small_settings();
    const bool whole = one_in(3);
    if (whole) {
      settings.model = model_preset(one_in(3) ? "bert-tiny" : "gpt2-tiny");
      settings.block = Block::Model;
      settings.micro_batches = one_in(3) ? 2 : 1;
      settings.dp = one_in(4) ? 2 : 1;
      settings.batch = 2 * settings.dp * settings.micro_batches;
      settings.update = one_in(2);
    } else {
      settings.block = std::array{Block::Layer, Block::Attention, Block::Mlp}[below(3)];
    }
    const std::vector<std::string> splits = split_names();
    settings.split = named_split(splits[below(splits.size())]);
    settings.tp = std::array{1, 2, 4, 8, 3}[below(whole ? 3 : 5)];
    return settings;
  }

  void press(ImGuiKeyChord chord) {
    ImGuiIO& io = ImGui::GetIO();
    const auto key = static_cast<ImGuiKey>(chord & ~ImGuiMod_Mask_);
    for (const bool down : {true, false}) {
      for (const ImGuiKey mod : {ImGuiMod_Ctrl, ImGuiMod_Shift, ImGuiMod_Alt})
        if ((chord & mod) != 0) io.AddKeyEvent(mod, down);
      io.AddKeyEvent(key, down);
      harness_->draw_frames(1);
    }
  }
  void type(const std::string& words) {
    for (const char letter : words) ImGui::GetIO().AddInputCharacter(static_cast<unsigned char>(letter));
    harness_->draw_frames(2);
  }

  void click() {
    ImGuiIO& io = ImGui::GetIO();
    const ImVec2 at(static_cast<float>(below(static_cast<size_t>(io.DisplaySize.x))),
                    static_cast<float>(below(static_cast<size_t>(io.DisplaySize.y))));
    did(fmt::format("click {:.0f} {:.0f} of {:.0f}", at.x, at.y, io.DisplaySize.x));
    io.AddMousePosEvent(at.x, at.y);
    harness_->draw_frames(2);
    const int button = one_in(12) ? 1 : 0;
    for (size_t clicks = one_in(6) ? 2 : 1; clicks > 0; --clicks) {
      io.AddMouseButtonEvent(button, true);
      harness_->draw_frames(1);
      if (one_in(8)) {
        io.AddMousePosEvent(at.x + static_cast<float>(below(200)) - 100,
                            at.y + static_cast<float>(below(200)) - 100);
        harness_->draw_frames(2);
      }
      io.AddMouseButtonEvent(button, false);
      harness_->draw_frames(1);
    }
  }

  void turn_the_wheel() {
    const float by = static_cast<float>(below(41)) - 20;
    did(fmt::format("wheel {}", by));
    ImGui::GetIO().AddMouseWheelEvent(0, by);
    harness_->draw_frames(2);
  }

  void use_a_command() {
    const UiCommand& command = commands()[below(commands().size())];
    did("command " + command.id);
    if (!command.keys.empty() && !one_in(4)) return press(command.keys[below(command.keys.size())]);
    press(ImGuiMod_Ctrl | ImGuiKey_P);
    type(command.title);
    press(ImGuiKey_Enter);
  }

  void act() {
    switch (below(14)) {
      case 0: {
        Settings settings = any_settings();
        did(fmt::format("settings {} T = {}, D = {}", to_string(settings.block), settings.tp, settings.dp));
        return harness_->studio().session().send(command::SetSettings{std::move(settings)});
      }
      case 1:
        return turn_the_wheel();
      case 2: {
        const auto key = static_cast<ImGuiKey>(ImGuiKey_Tab + below(ImGuiKey_F12 - ImGuiKey_Tab));
        did(fmt::format("key {}", ImGui::GetKeyName(key)));
        return press(key | (one_in(4) ? ImGuiMod_Ctrl : one_in(6) ? ImGuiMod_Shift : ImGuiMod_None));
      }
      case 3:
        did("escape");
        return press(ImGuiKey_Escape);
      case 4:
      case 5:
      case 6:
        return use_a_command();
      case 7:
        if (!one_in(6)) return click();
        return do_something_rare();
      default:
        return click();
    }
  }

  void do_something_rare() {
    switch (below(4)) {
      case 0: {
        const auto& lessons = built_in_lessons();
        const std::string lesson = lessons[below(lessons.size())]->name;
        did("lesson " + lesson);
        return harness_->studio().open_lesson(lesson, static_cast<int>(below(4)));
      }
      case 1: {
        const auto fault = std::array{Fault::SkipF, Fault::SkipG}[below(2)];
        did("mistake " + to_string(fault));
        Settings settings = any_settings();
        return harness_->studio().breaks().send(break_command::Start{settings, fault});
      }
      case 2: {
        constexpr std::array<PixelSize, 4> kSizes{{{1280, 720}, {1920, 1080}, {900, 600}, {2560, 1080}}};
        const PixelSize size = kSizes[below(kSizes.size())];
        did(fmt::format("size {} × {}", size.width, size.height));
        return harness_->platform().resize(size);
      }
      default:
        did("waits");
        let_workers_go_on(0.3);
    }
  }

  std::unique_ptr<StudioHarness> harness_ = std::make_unique<StudioHarness>(PixelSize{1280, 720});
  std::mt19937_64 random_;
  std::shared_ptr<Heard> heard_ = std::make_shared<Heard>();

 private:
  std::vector<std::string> done_;
  std::filesystem::path before_;
  std::shared_ptr<spdlog::logger> logger_;
};

TEST_F(RandomPerson, MeetsNoFrameThatFails) {
  const auto seed = static_cast<uint64_t>(wish("SHARDLENS_SEED", static_cast<double>(kSeed)));
  const std::chrono::duration<double> seconds(wish("SHARDLENS_PERSON_SECONDS", kSeconds));
  random_.seed(seed);
  harness_->view().recordings = path("recordings");
  harness_->view().of<TrainView>().checkpoints = path("checkpoints");
  int64_t actions = 0;
  for (const auto end = Clock::now() + seconds; Clock::now() < end; ++actions) {
    try {
      act();
      harness_->draw_frames(static_cast<int>(1 + below(4)));
    } catch (const std::exception& error) {
      FAIL() << "seed " << seed << ", action " << actions << ": " << error.what() << last_actions();
    }
    ASSERT_EQ(heard_->not_drawn, "") << "seed " << seed << ", action " << actions << last_actions();
    if (one_in(3)) let_workers_go_on(0.016);  // what runs goes on meanwhile
  }
  EXPECT_GT(actions, 10);
}

}  // namespace random_person_test
}  // namespace shardlens::ui
