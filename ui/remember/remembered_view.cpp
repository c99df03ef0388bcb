// Copies the remembered parts of the view to and from the state file.
#include "ui/remember/remembered_view.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "engine/io/file_problem.h"
#include "ui/lesson/lesson_view.h"
#include "ui/panels/compare/compare_view.h"
#include "ui/panels/memory/memory_view.h"
#include "ui/panels/program/program_view.h"
#include "ui/panels/scaling/scaling_view.h"
#include "ui/panels/traffic/traffic_view.h"
#include "ui/panels/train/train_view.h"
#include "ui/stage/motion.h"

namespace shardlens::ui {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kSaveEvery{5};
constexpr int kProvingFrames = 12;  ///< in which every window is docked and every panel drawn

/// What a person has done, without how anything looks.
RememberedState records_of(const RememberedState& state) {
  RememberedState records;
  records.recent = state.recent;
  records.lessons = state.lessons;
  records.last_lesson = state.last_lesson;
  return records;
}

}  // namespace

RememberedView::RememberedView(std::filesystem::path path) : path_(std::move(path)), saved_(Clock::now()) {}

std::string RememberedView::restore(ViewState& view, DockTree& layout) {
  if (path_.empty()) return {};
  std::string problem;
  attempt_.emplace(path_);
  state_ = read_state(path_, problem);
  repairs_ = !problem.empty() && has_wrong_values(path_);
  if (const int died = attempt_->died_before(); died > 0) {
    replaces_ = true;
    state_ = died == 1 ? records_of(state_) : RememberedState{};
    problem = fmt::format(
        "the last start ended while it put the state of {} in place: this one is as at the first start{}. "
        "The "
        "file is kept as {}",
        path_.string(), died == 1 ? ", but for the lessons' progress and the recent recordings" : "",
        kept_aside(path_).filename().string());
  }
  view.theme = state_.theme;
  view.scale = state_.scale;
  view.set_lecture(state_.lecture);
  view.of<MotionView>().on = state_.motion;
  view.tab = state_.tab;
  view.recent = state_.recent;
  view.of<MemoryView>().this_layer = state_.memory_this_layer;
  view.of<ProgramView>().filter = state_.program_filter;
  auto& train = view.of<TrainView>();
  train.single = state_.train;
  train.compared = state_.compared;
  train.writing = state_.writing;
  view.of<TrafficView>().times = state_.traffic_times;
  view.of<ScalingView>() = state_.scaling;
  auto& compare = view.of<CompareView>();
  compare.page = state_.compare_page;
  compare.splits = state_.compare_splits;
  view.of<LessonView>().progress = state_.lessons;
  view.of<LessonView>().last = state_.last_lesson;
  view.of<ByHandView>().form = state_.by_hand;
  layout.restore(state_.layout);
  return problem;
}

std::string RememberedView::save(const ViewState& view, const DockTree& layout) {
  saved_ = Clock::now();
  if (path_.empty()) return {};
  attempt_.reset();  // the state was shown, or the studio ends in order
  // What a lesson shows is not what a person has chosen.
  const auto& train = view.of<TrainView>();
  const TrainForm trained = train.own_form();
  const auto& compare = view.of<CompareView>();
  RememberedState now{.theme = view.theme,
                      .scale = view.scale,
                      .lecture = view.lecture_given ? state_.lecture : view.lecture,
                      .tab = view.tab,
                      .memory_this_layer = view.of<MemoryView>().this_layer,
                      .program_filter = view.of<ProgramView>().filter,
                      .layout = layout.remembered(),
                      .train = trained.single,
                      .compared = trained.compared,
                      .traffic_times = view.of<TrafficView>().times,
                      .scaling = view.of<ScalingView>(),
                      .compare_page = compare.page,
                      .compare_splits = compare.splits,
                      .writing = train.writing,
                      .recent = view.recent,
                      .lessons = view.of<LessonView>().progress,
                      .last_lesson = view.of<LessonView>().last,
                      .motion = view.of<MotionView>().on,
                      .by_hand = view.of<ByHandView>().own_form()};
  if (now == state_ && !replaces_ && !repairs_) return {};
  try {
    replaces_ ? replace_state(now, path_) : write_state(now, path_, state_);
    replaces_ = repairs_ = false;
    state_ = std::move(now);
    return {};
  } catch (const std::exception& error) {
    if (std::exchange(told_, true)) return {};
    spdlog::warn("cannot remember the layout: {}", message_of(error));
    return fmt::format(
        "The studio cannot remember where the panels stand, nor what was opened last: {}. It tries again as "
        "long as it is open.",
        message_of(error));
  }
}

std::string RememberedView::save_now_and_then(const ViewState& view, const DockTree& layout) {
  if (frames_ < kProvingFrames) {
    if (++frames_ < kProvingFrames) return {};
    if (replaces_ || repairs_) return save(view, layout);
    attempt_.reset();
  }
  return Clock::now() - saved_ > kSaveEvery ? save(view, layout) : std::string();
}

}  // namespace shardlens::ui
