// Decides what the video shows at each moment, draws it and writes the file.
#include "app/studio/video.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "app/studio/lesson_show.h"
#include "app/studio/video_file.h"
#include "engine/base/error.h"
#include "ui/commands/walk.h"
#include "ui/plan/sections.h"

namespace shardlens {
namespace {

constexpr PixelSize kVideoSize{1280, 720};
constexpr int64_t kMostFrames = 500'000;  // more than four hours at 30 a second

/// What the video plays: the state at each moment, and how to show a state. Equal states give equal pictures.
struct Film {
  double seconds = 0;
  std::function<int64_t(double)> state_at;
  std::function<void(int64_t)> show;
};

/// While an object exists, Ctrl+C and SIGTERM only set a flag. The flag is checked between two frames, so no
/// half-written file stays.
class Interruption {
 public:
  Interruption() {
    wished_ = false;
    struct sigaction action {};
    action.sa_handler = [](int) { wished_ = true; };
    sigaction(SIGINT, &action, &interrupt_before_);
    sigaction(SIGTERM, &action, &terminate_before_);
  }
  ~Interruption() {
    sigaction(SIGINT, &interrupt_before_, nullptr);
    sigaction(SIGTERM, &terminate_before_, nullptr);
  }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  bool wished() const { return wished_; }

 private:
  static inline std::atomic<bool> wished_{false};
  struct sigaction interrupt_before_ {
  }, terminate_before_{};
};

/// Returns the steps of the walk: those of the open part, else all; from --from to --to.
std::vector<StepId> walked_steps(const Options& options, const Program& program) {
  std::vector<StepId> steps;
  if (!options.open.empty()) {
    steps = ui::make_sections(program).list[static_cast<size_t>(find_part(program, options.open))].steps;
  } else {
    for (const Step& step : program.steps) steps.push_back(step.id);
  }
  const auto place = [&](const std::string& wanted, const char* option) {
    const auto found = std::find(steps.begin(), steps.end(), wanted_step(program, wanted));
    if (found == steps.end())
      throw request_error(
          fmt::format("{} {}: this step is not in the part that --open names", option, wanted));
    return found;
  };
  const auto first = options.from.empty() ? steps.begin() : place(options.from, "--from");
  const auto last = options.to.empty() ? steps.end() - 1 : place(options.to, "--to");
  if (first > last) throw request_error("--to is before --from; exchange them");
  return {first, last + 1};
}

/// A walk through the steps of a run.
Film walk(const Options& options, ui::Studio& studio) {
  const Program& program = studio.snapshot().plan->program;
  const std::vector<StepId> steps = walked_steps(options, program);
  std::vector<double> ends;
  double seconds = 0;
  for (const StepId step : steps) ends.push_back(seconds += ui::still_seconds(program.step(step)));
  const auto state_at = [steps, ends](double at) {
    const auto next = std::upper_bound(ends.begin(), ends.end(), at) - ends.begin();
    return int64_t{steps[std::min(static_cast<size_t>(next), steps.size() - 1)]};
  };
  const auto show = [&studio](int64_t step) {
    select_step(studio.view(), studio.snapshot().plan->program, static_cast<StepId>(step));
  };
  return {seconds, state_at, show};
}

/// A stretch of a recording; a state is a time in nanoseconds.
Film replay(const Options& options, OffscreenStudio& shown) {
  const double all = shown.studio().replayed().recording->seconds;
  const auto moment = [&](const std::string& text, const char* option, double otherwise) {
    if (text.empty()) return otherwise;
    double seconds = -1;
    const char* const end = text.data() + text.size();
    const auto [after, error] = std::from_chars(text.data(), end, seconds);
    if (error != std::errc() || after != end || !(seconds >= 0 && seconds <= all))
      throw request_error(
          fmt::format("{} {}: give a moment of the recording, 0 to {:.3f} seconds", option, text, all));
    return seconds;
  };
  const double from = moment(options.from, "--from", 0), to = moment(options.to, "--to", all);
  if (from > to) throw request_error("--to is before --from; exchange them");
  return {to - from, [from](double at) { return std::llround((from + at) * 1e9); },
          [&shown](int64_t nanoseconds) { shown.show_moment(static_cast<double>(nanoseconds) * 1e-9); }};
}

/// What a class is shown of a lesson, each picture for as long as it takes to read; a state is a still.
Film tell(LessonShow& lesson) {
  lesson.make_all();
  const std::vector<Still> stills = stills_of(lesson.lesson());
  std::vector<double> ends;
  double seconds = 0;
  for (const Still& still : stills) ends.push_back(seconds += reading_seconds(lesson, still));
  const auto state_at = [ends](double at) {
    const auto next = std::upper_bound(ends.begin(), ends.end(), at) - ends.begin();
    return std::min<int64_t>(next, static_cast<int64_t>(ends.size()) - 1);
  };
  return {seconds, state_at,
          [&lesson, stills](int64_t still) { show(lesson, stills[static_cast<size_t>(still)]); }};
}

int64_t frames_of(const Film& film, const Options& options) {
  const double frames = std::ceil(film.seconds / options.speed * options.fps - 1e-6);
  if (frames > static_cast<double>(kMostFrames))
    throw request_error(fmt::format(
        "the video would have {:.3g} frames, too many: use a larger --speed, a smaller --fps, or a "
        "shorter stretch with --from and --to",
        frames));
  return std::max<int64_t>(1, static_cast<int64_t>(frames));
}

}  // namespace

void write_video(const Options& options) {
  const OutputPlace place(options.video.string(), kVideoFile);
  const PixelSize size = options.size.value_or(options.lesson.empty() ? kVideoSize : kDefaultSize);
  require_video(options.video, size);
  const Interruption interruption;
  std::unique_ptr<OffscreenStudio> alone;
  std::unique_ptr<LessonShow> lesson;
  if (options.lesson.empty())
    alone = std::make_unique<OffscreenStudio>(options, size);
  else
    lesson = std::make_unique<LessonShow>(in_class(options), size);
  OffscreenStudio& shown = lesson ? lesson->shown() : *alone;
  const Film film = lesson            ? tell(*lesson)
                    : shown.replays() ? replay(options, shown)
                                      : walk(options, shown.studio());
  const int64_t frames = frames_of(film, options);

  VideoFile file(options.video, size, options.fps);
  Image image;
  for (int64_t frame = 0, last = 0; frame < frames; ++frame) {
    if (interruption.wished())
      throw run_error(fmt::format("interrupted; {} was not written", options.video.string()));
    const int64_t state = film.state_at(static_cast<double>(frame) / options.fps * options.speed);
    if (frame == 0 || state != last) {
      film.show(state);
      image = shown.settled_picture();
      last = state;
    }
    file.add(image);
  }
  file.commit();
  fmt::print("{}: {} frames of {}x{}, {:.2f} s at {} per second\n", options.video.string(), frames,
             size.width, size.height, static_cast<double>(frames) / options.fps, options.fps);
}

}  // namespace shardlens
