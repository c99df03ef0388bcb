// The Session and its worker's loop: takes Commands, publishes Snapshots.
#include "engine/runtime/session/session.h"

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/config/validate.h"
#include "engine/io/file_problem.h"
#include "engine/runtime/session/session_worker.h"

namespace shardlens {
namespace {

constexpr double kPollSeconds = 0.005;     // how soon a new command interrupts a pass
constexpr double kRecordingSeconds = 0.1;  // how soon the bytes on the disk are published
constexpr double kProgressSeconds = 0.05;  // how often a running pass is published

}  // namespace

std::string to_string(RunState state) {
  switch (state) {
    case RunState::Planning:
      return "planning";
    case RunState::Running:
      return "running";
    case RunState::Paused:
      return "paused";
    case RunState::Done:
      return "done";
    case RunState::Refused:
      return "refused";
    case RunState::Failed:
      return "failed";
    case RunState::Cancelled:
      return "cancelled";
  }
  return {};
}

void Session::Worker::publish() {
  ++now_.version;
  // A first run of new settings fills its pictures while the old ones, greyed, are still shown. The new ones
  // replace the old ones when the run stands still, also if a rank failed. If it never gets there, the old
  // ones stay.
  const bool stands_still =
      now_.state == RunState::Done || now_.state == RunState::Paused || now_.failure.has_value();
  const bool beside_an_older_one = now_.result && now_.result->plan != result_.plan && !stands_still;
  if (result_.plan && !beside_an_older_one) {
    if (sampler_) result_.samples = sampler_->samples();
    now_.result = std::make_shared<Result>(result_);
  }
  now_.recording = recordings_.state();
  mail_.publish(std::make_shared<Snapshot>(now_));
}

// A run goes into its recording as it is shown, once all its results are known: the times, the pictures, the
// comparison.
void Session::Worker::record_result() {
  if (!std::exchange(to_record_, false) || !recordings_.is_on()) return;
  const bool last = std::exchange(last_recorded_, false);
  if (sampler_) result_.samples = sampler_->samples();
  std::vector<Metric> metrics;
  if (result_.gemm_ceiling_flops > 0) metrics.emplace_back("gemm_ceiling_flops", result_.gemm_ceiling_flops);
  // The Session's samples are for the user who looks at them; it takes them also without a recording.
  const PictureOptions none{.taken = PictureOptions::Taken::Off};
  if (Recorder* recorder = recordings_.open(result_.plan, result_.communicator, none))
    recorder->take(result_, std::move(metrics));
  if (last) recordings_.set_folder({});
}

// While nothing runs, the writer may still write: publishes what it has written.
NextTurn Session::Worker::end_turn() {
  if (!passes_.empty()) return mail_.end_turn(true);
  one_run_.end();
  const bool settled = recordings_.is_settled();
  if (recordings_.state() != now_.recording) publish();
  return settled ? mail_.end_turn(false) : mail_.end_turn(false, kRecordingSeconds);
}

// Returns the next command; of several SetSettings in a row only the last counts.
std::optional<Command> Session::Worker::take_command() {
  std::optional<Command> command = mail_.take();
  const auto sets = [](const Command& one) { return std::holds_alternative<command::SetSettings>(one); };
  while (command && sets(*command)) {
    std::optional<Command> next = mail_.take_if(sets);
    if (!next) break;
    command = std::move(next);
  }
  return command;
}

NextTurn Session::Worker::turn() {
  if (!mail_.begin_turn()) return kEnds;
  try {
    while (std::optional<Command> command = take_command()) handle(std::move(*command));
    begin_windows();
    work();
  } catch (const RunFailed& error) {
    stop_with(error.kind() == ErrorKind::Request ? RunState::Refused : RunState::Failed, error.what(),
              error.failure());
  } catch (const TooLarge& error) {
    now_.fitting = error.fitting();
    stop_with(RunState::Refused, error.what());
  } catch (const Error& error) {
    const RunState state = error.kind() == ErrorKind::Request     ? RunState::Refused
                           : error.kind() == ErrorKind::Cancelled ? RunState::Cancelled
                                                                  : RunState::Failed;
    stop_with(state, error.what());
  } catch (const std::exception& error) {
    stop_with(RunState::Failed, message_of(error));
  }
  return end_turn();
}

// Brings the pass that runs forward, or begins the next one.
void Session::Worker::work() {
  if (passes_.empty()) return;
  if (!one_run_.may_begin()) return;
  if (!pass_running_) begin_pass();
  if (wait_for_pass(kPollSeconds)) {
    finish_pass();
    begin_windows();
  } else if (passes_.front() == Pass::Sample && now_seconds() - told_progress_seconds_ > kProgressSeconds) {
    told_progress_seconds_ = now_seconds();
    now_.position = executor_->position();
    publish();
  }
}

void Session::Worker::finish() {
  record_result();
  recordings_.close();
  publish();  // what became of the recording
  executor_.reset();
  serial_executor_.reset();
  loss_executor_.reset();
}

Session::Session(const Settings& settings, Begin begin)
    : worker_(std::make_unique<Worker>(settings, begin)) {}
Session::~Session() = default;
void Session::end() {
  worker_->end();
}
void Session::send(Command command) {
  worker_->mail().send(std::move(command));
}
std::shared_ptr<const Snapshot> Session::snapshot() const {
  return worker_->mail().snapshot();
}
std::shared_ptr<const Snapshot> Session::wait_until_idle(double timeout_seconds) const {
  return worker_->mail().wait_until_idle(timeout_seconds);
}

}  // namespace shardlens
