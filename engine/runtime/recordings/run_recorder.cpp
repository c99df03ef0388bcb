// Opens and closes files as plans come and go.
#include "engine/runtime/recordings/run_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/io/file_problem.h"

namespace shardlens {
namespace {

namespace fs = std::filesystem;

void add(RecordingState& state, const RecordingTotals& totals, int64_t bytes) {
  ++state.files;
  state.passes += totals.passes;
  state.bytes += bytes;
  state.dropped_passes += totals.dropped_passes;
  state.dropped_pictures += totals.dropped_pictures;
  if (!totals.problem.empty()) state.problem = totals.problem;
}

constexpr size_t kMostOfAName = 40;  // the name of a split may list all its cuts

}  // namespace

std::string recording_name(const Settings& settings, double unix_seconds) {
  const auto time = static_cast<std::time_t>(unix_seconds);
  std::tm local{};
  localtime_r(&time, &local);
  const auto in_a_name = [](std::string text) {
    std::replace_if(
        text.begin(), text.end(),
        [](char c) { return !(std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.'); }, '-');
    return text.substr(0, kMostOfAName);
  };
  const std::string block = settings.block == Block::Model ? "" : "-" + to_string(settings.block);
  const std::string replicas = settings.dp > 1 ? fmt::format("D{}", settings.dp) : "";
  const std::string split = settings.split.name == Split().name ? "" : "_" + in_a_name(settings.split.name);
  const std::string late = settings.delays.empty() ? "" : "_late";
  return fmt::format("{:04}-{:02}-{:02}_{:02}-{:02}-{:02}_{}{}_T{}{}{}{}.shardlens", local.tm_year + 1900,
                     local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec,
                     in_a_name(settings.model.name), block, settings.tp, replicas, split, late);
}

void RunRecorder::set_folder(const std::string& folder) {
  close();
  if (!folder.empty()) ended_ = RecordingState{};
  folder_ = folder;
}

Recorder* RunRecorder::open(const std::shared_ptr<const Plan>& plan, const CommunicatorInfo& communicator,
                            const PictureOptions& pictures) {
  if (!is_on()) return nullptr;
  for (const File& file : open_)
    if (file.plan == plan) return file.recorder.get();
  try {
    make_folder(folder_);
    const double now =
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    const std::string path =
        free_recording_path(fs::path(folder_) / recording_name(plan->program.settings, now));
    // The Result holds every tensor's sample anyway, and one pass of a whole model may take some hundred
    // megabytes. The limit lets a whole pass wait; a smaller one would drop its pictures though nothing else
    // waits.
    const RecordingLimits limits{.waiting_bytes = int64_t{512} << 20};
    auto recorder = std::make_unique<Recorder>(path, verb_, *plan, communicator, limits, pictures);
    ended_.path = path;
    open_.push_back({plan, std::move(recorder)});
    return open_.back().recorder.get();
  } catch (const std::exception& error) {
    close();
    ended_.problem = fmt::format("Nothing is recorded: {}", message_of(error));
    folder_.clear();
    return nullptr;
  }
}

void RunRecorder::close() {
  for (const File& file : open_) {
    const RecordingTotals totals = file.recorder->finish();
    add(ended_, totals, file.recorder->file_bytes());
  }
  open_.clear();
}

RecordingState RunRecorder::state() const {
  RecordingState state = ended_;
  for (const File& file : open_) add(state, file.recorder->totals(), file.recorder->file_bytes());
  state.on = is_on();
  return state;
}

bool RunRecorder::is_settled() const {
  return std::all_of(open_.begin(), open_.end(),
                     [](const File& file) { return file.recorder->is_settled(); });
}

}  // namespace shardlens
