// The frame benchmark. A frame is timed by the clock (what a person sees) and by the CPU time of the window's
// own thread (our share if other programs use the cores). Frames are drawn in two ways: as the studio draws
// them, only where they changed, and whole, which is the worst case. While ranks compute, frames come at a
// screen's rate, because otherwise nearly all would repeat the last one. What was tried for speed:
// ui/platform/TRIED.md.
#include "app/studio/frame_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>
#include <vector>

#include "app/studio/offscreen_parts.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/io/json_text.h"
#include "engine/runtime/rank_priority.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "ui/panels/timeline/history_view.h"
#include "ui/widgets/stretch.h"

namespace shardlens {
namespace {

/// Returns the CPU time of the calling thread so far.
double worked_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

struct FrameTimes {
  size_t frames = 0;
  double median_seconds = 0, p99_seconds = 0, longest_seconds = 0;
  double own_median_seconds = 0, own_p99_seconds = 0;  ///< CPU time of the window's thread
  double drawn = 0;                                    ///< share of the picture, on average
};

/// Frames drawn one after the other.
class Frames {
 public:
  void draw(Platform& platform, ui::Studio& studio) {
    const auto begin = Clock::now();
    const double worked = worked_seconds();
    draw_frame(platform, studio);
    own_.push_back(worked_seconds() - worked);
    seconds_.push_back(seconds_since(begin));
    const PixelSize size = platform.framebuffer_size();
    drawn_.push_back(static_cast<double>(platform.drawn_pixels()) / (1.0 * size.width * size.height));
  }
  /// The frame drawn last does not count.
  void forget_last() {
    seconds_.pop_back();
    own_.pop_back();
    drawn_.pop_back();
  }
  size_t count() const { return seconds_.size(); }

  FrameTimes summary() const {
    std::vector<double> seconds = seconds_, own = own_;
    std::sort(seconds.begin(), seconds.end());
    std::sort(own.begin(), own.end());
    const auto at = [](const std::vector<double>& sorted, double share) {
      const auto place = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size())));
      return sorted[std::min(sorted.size(), place) - 1];
    };
    return {count(),
            at(seconds, 0.5),
            at(seconds, 0.99),
            seconds.back(),
            at(own, 0.5),
            at(own, 0.99),
            std::accumulate(drawn_.begin(), drawn_.end(), 0.0) / count()};
  }

 private:
  std::vector<double> seconds_, own_, drawn_;
};

constexpr double kScreenSeconds = 1.0 / 60;

struct FrameKind {
  const char* name;
  bool computing;  ///< ranks compute at the same time
  bool whole;      ///< the whole picture is drawn, changed or not
};
constexpr FrameKind kKinds[] = {{"idle", false, false},
                                {"idle_whole", false, true},
                                {"computing", true, false},
                                {"computing_whole", true, true}};

FrameTimes time_frames(Platform& platform, ui::Studio& studio, int frames, FrameKind kind) {
  Frames drawn;
  const auto begin = Clock::now();
  while (drawn.count() < static_cast<size_t>(frames)) {
    const auto frame_begin = Clock::now();
    if (kind.computing && is_at_rest(*studio.session().snapshot())) studio.session().send(command::Run{});
    if (kind.whole) platform.draw_whole();
    drawn.draw(platform, studio);
    // With computing ranks, only frames that were drawn during a run count.
    if (kind.computing && is_at_rest(studio.snapshot())) drawn.forget_last();
    if (seconds_since(begin) > kTimeoutSeconds)
      throw run_error("the ranks did not compute long enough to measure frames");
    if (kind.computing)
      std::this_thread::sleep_for(std::chrono::duration<double>(kScreenSeconds - seconds_since(frame_begin)));
  }
  return drawn.summary();
}

nlohmann::json as_json(const FrameTimes& times) {
  return {{"frames", times.frames},
          {"median_seconds", times.median_seconds},
          {"p99_seconds", times.p99_seconds},
          {"longest_seconds", times.longest_seconds},
          {"own_median_seconds", times.own_median_seconds},
          {"own_p99_seconds", times.own_p99_seconds},
          {"drawn_share", times.drawn}};
}

std::string as_text(const FrameTimes& times) {
  return fmt::format(
      "median {:.2f} ms, 99th percentile {:.2f} ms, longest {:.2f} ms ({} frames); its own thread {:.2f} and "
      "{:.2f} ms; {:.1f} % of the picture drawn",
      times.median_seconds * 1e3, times.p99_seconds * 1e3, times.longest_seconds * 1e3, times.frames,
      times.own_median_seconds * 1e3, times.own_p99_seconds * 1e3, times.drawn * 100);
}

constexpr double kDeepestSeconds = 2e-3;  ///< the shortest visible stretch when zooming in

/// Times frames while the timeline of a recording is moved: calls `move(i)` before each frame, at a screen's
/// rate.
FrameTimes time_moves(Platform& platform, ui::Studio& studio, int frames,
                      const std::function<void(int)>& move) {
  Frames drawn;
  for (int i = 0; i < frames; ++i) {
    const auto begin = Clock::now();
    move(i);
    drawn.draw(platform, studio);
    std::this_thread::sleep_for(std::chrono::duration<double>(kScreenSeconds - seconds_since(begin)));
  }
  return drawn.summary();
}

/// Pans over the whole recording, zoomed in a little and much, and zooms in and out about many places.
void benchmark_timeline(const Options& options) {
  const PixelSize size = options.size.value_or(kDefaultSize);
  const std::unique_ptr<Platform> platform = make_offscreen_platform(size);
  ui::Studio studio(options.settings, platform->fonts(), {}, Session::Begin::WhenAsked);
  apply_looks(options, studio.view());
  const auto begin = Clock::now();
  studio.open_recording(options.recording.string());
  std::shared_ptr<const ReplaySnapshot> opened;
  do {
    draw_frame(*platform, studio);
    opened = studio.replay().snapshot();
    if (!opened->message.empty()) throw request_error(opened->message);
    if (seconds_since(begin) > kTimeoutSeconds) throw run_error("the recording was not opened in time");
  } while (!opened->is_open() || !studio.history().snapshot()->whole);
  draw_frame(*platform, studio);
  const double open_seconds = seconds_since(begin);
  for (int i = 0; i < kSettlingFrames; ++i) draw_frame(*platform, studio);
  const double whole = static_cast<double>(studio.history().snapshot()->end_ns) * 1e-9;
  const int frames = options.benchmark_frames;
  ui::Stretch& shown = studio.view().of<ui::HistoryView>().shown;
  const auto pan = [&](double share) {
    return time_moves(*platform, studio, frames, [&, share](int i) {
      const double at = whole * (1 - share) * i / frames;
      shown = {at, at + share * whole};
    });
  };
  const FrameTimes overview = time_moves(*platform, studio, frames, [](int) {});
  const FrameTimes far = pan(0.5), near = pan(std::min(0.5, 20 * kDeepestSeconds / whole));
  constexpr int kOneWay = 90;  // frames
  const FrameTimes zoom = time_moves(*platform, studio, frames, [&](int i) {
    const double depth = 1 - std::abs((i % (2 * kOneWay)) / static_cast<double>(kOneWay) - 1);
    const double width = whole * std::pow(std::min(1.0, kDeepestSeconds / whole), depth);
    const double about = whole * std::fmod(0.37 * (1 + i / (2 * kOneWay)), 1.0);
    shown = ui::clamped({about - width / 2, about + width / 2}, {0, whole});
  });
  const RecordingFacts& facts = *opened->recording;
  const std::pair<const char*, const FrameTimes&> all[] = {
      {"still", overview}, {"panning_far", far}, {"panning_near", near}, {"zooming", zoom}};
  if (options.json) {
    nlohmann::json json{{"width", size.width},
                        {"height", size.height},
                        {"renderer", platform->renderer()},
                        {"file_bytes", facts.file_bytes},
                        {"passes", facts.passes},
                        {"open_seconds", open_seconds},
                        {"frame_seconds_wanted", kScreenSeconds}};
    for (const auto& [name, times] : all) json[name] = as_json(times);
    fmt::print("{}\n", json_text(json, 2));
    return;
  }
  fmt::print("{}x{}, {}\n{}: {} passes, {}, drawn {:.0f} ms after it was opened\n", size.width, size.height,
             platform->renderer(), facts.path, grouped_text(facts.passes),
             bytes_text(static_cast<double>(facts.file_bytes)), open_seconds * 1e3);
  for (const auto& [name, times] : all)
    fmt::print("{:<13} {}, of the {:.1f} ms of a frame\n", name, as_text(times), kScreenSeconds * 1e3);
}

}  // namespace

void benchmark_frames(const Options& options) {
  set_beside_a_window(true);  // the frames are timed as those of a window, although none is open
  if (!options.recording.empty()) return benchmark_timeline(options);
  const PixelSize size = options.size.value_or(kDefaultSize);
  const std::unique_ptr<Platform> platform = make_offscreen_platform(size);
  ui::Studio studio(options.settings, platform->fonts());
  apply_looks(options, studio.view());
  wait_for_rest(*platform, studio);
  for (int i = 0; i < kSettlingFrames; ++i) draw_frame(*platform, studio);
  std::vector<FrameTimes> times;
  for (const FrameKind& kind : kKinds)
    times.push_back(time_frames(*platform, studio, options.benchmark_frames, kind));
  const Settings& settings = options.settings;
  if (options.json) {
    nlohmann::json json{
        {"width", size.width},          {"height", size.height}, {"renderer", platform->renderer()},
        {"model", settings.model.name}, {"tp", settings.tp},     {"view", options.view}};
    for (size_t i = 0; i < times.size(); ++i) json[kKinds[i].name] = as_json(times[i]);
    fmt::print("{}\n", json_text(json, 2));
    return;
  }
  fmt::print("{}x{}, {}\n{}, T = {}, view {}\n", size.width, size.height, platform->renderer(),
             settings.model.title, settings.tp, options.view);
  for (size_t i = 0; i < times.size(); ++i) {
    std::string name = kKinds[i].name;
    std::replace(name.begin(), name.end(), '_', ' ');
    fmt::print("{:<16} {}\n", name, as_text(times[i]));
  }
}

}  // namespace shardlens
