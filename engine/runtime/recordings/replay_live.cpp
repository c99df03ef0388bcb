// A Replay of a recording that a run still writes: it checks the writer a few times a second and reads what
// was committed. When the writer is gone, the recording becomes an ordinary one.
#include <fmt/format.h>

#include <filesystem>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/runtime/recordings/replay_worker.h"

namespace shardlens {
namespace {

constexpr double kTickSeconds = 0.016;  // between two positions while it plays
constexpr double kLookSeconds = 0.25;   // between two checks of the writer
constexpr double kTakeSeconds = 0.5;    // between two reads of what it wrote

}  // namespace

NextTurn Replay::Worker::end_turn() {
  if (now_.playing) return {kTickSeconds};  // it does not rest
  return now_.is_live() ? mail_.end_turn(has_metrics_left(), kLookSeconds)
                        : mail_.end_turn(has_metrics_left());
}

void Replay::Worker::look_at_writer() {
  const double now = now_seconds();
  if (!now_.is_live() || now - looked_seconds_ < kLookSeconds) return;
  looked_seconds_ = now;
  try {
    const WriterState state = recording_->writer();
    if (state == WriterState::Gone) return settle();
    const bool changed = std::exchange(now_.writer, state) != state;
    const uint64_t generation = recording_->generation();
    const bool grew = generation != taken_generation_ && now - taken_seconds_ >= kTakeSeconds;
    if (grew) {
      take_in();
      taken_generation_ = generation;
      taken_seconds_ = now;
    }
    if (grew || changed) publish();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Request) return;  // the writer was busy: try again at the next check
    close();                                         // the file has gone, or is another one
    fail(error.what());
  }
}

// Reads what was committed since the last time.
void Replay::Worker::take_in() {
  auto facts = std::make_shared<RecordingFacts>(*now_.recording);
  const int64_t passes = recording_->passes();
  const RecordingTotals totals = recording_->totals();
  facts->passes = passes;
  facts->dropped_passes = totals.dropped_passes;
  facts->problem = totals.problem;
  if (passes > 0) facts->seconds = std::max(0.0, recording_->pass_time(passes - 1).end_seconds());
  facts->finished = recording_->finished();
  facts->failure = recording_->failure();
  std::error_code ignored;
  facts->file_bytes = static_cast<int64_t>(std::filesystem::file_size(facts->path, ignored));
  high_water_bytes_ = recording_->high_water_bytes();
  now_.recording = std::move(facts);
  now_.committed_seconds = recording_->committed_seconds();
  metrics_.complete = false;
  if (passes == 0 || (shown_.result && !now_.follows)) return;
  show_pass(passes - 1);
  stand_after(shown_.done.size());
  whole_ = true;
}

// The run has ended, with or without success: what is shown stays, as a replay.
void Replay::Worker::settle() {
  const double silent = now_seconds() - now_.committed_seconds;
  take_in();
  const std::string problem = save_notes();
  publish_notes();
  // The next thing published is the sentence: nobody sees that the writer is gone without being told why.
  now_.writer = WriterState::Gone;
  now_.follows = false;
  if (shown_.result) shown_.result = with_liveness(*shown_.result, false);
  const RecordingFacts& facts = *now_.recording;
  if (!facts.finished)
    say(fmt::format(
        "The run stopped before its end: it was killed, or its machine went down. All that it had "
        "recorded until {:.0f} s ago is here and is now replayed.",
        silent));
  else if (!facts.failure.empty())
    say(fmt::format("The run has failed: {}. All that it had recorded is here and is now replayed.",
                    facts.failure));
  else
    say("The run has ended and its recording is complete. It is now replayed.");
  if (!problem.empty()) say(problem);
}

}  // namespace shardlens
