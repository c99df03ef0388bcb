// The worker behind a DiffSession.
//
// Protocol. Every command stops the present comparison through a stop token. If several commands arrive in a
// row, only the last one is carried out.
#include "engine/train/experiments/diff_session.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <stop_token>

#include "engine/base/error.h"
#include "engine/base/job.h"
#include "engine/io/file_problem.h"
#include "engine/record/gallery.h"
#include "engine/runtime/mailbox.h"
#include "engine/train/experiments/run_again.h"

namespace shardlens {
namespace {

constexpr int64_t kMostPoints = 2048;  // per curve

ComparedRun told(const Recording& recording, const std::string& path, const std::string& file) {
  const RecordingHeader& header = recording.header();
  return {path,
          file,
          header.verb,
          header.machine,
          header.communicator,
          recording.finished(),
          std::make_shared<Program>(header.program)};
}

// Adds every `stride`-th pass, with A's pass numbers.
void add_points(const Recording& recording, int64_t passes, int64_t offset,
                std::vector<ComparedCurve>& curves,
                std::vector<ComparedCurve::Point> ComparedCurve::*points) {
  const int64_t stride = std::max<int64_t>(1, (passes + kMostPoints - 1) / kMostPoints);
  recording.metrics(0, passes, stride, [&](int64_t pass, const std::string& name, double value) {
    const auto curve = std::find_if(curves.begin(), curves.end(),
                                    [&](const ComparedCurve& one) { return one.name == name; });
    if (curve != curves.end()) ((*curve).*points).push_back({static_cast<double>(pass - offset), value});
  });
}

std::vector<ComparedCurve> curves_of(const Recording& a, const Recording& b, const RecordingDiff& diff) {
  std::vector<ComparedCurve> curves;
  for (const MetricDiff& metric : diff.metrics)
    if (!metric.is_time) curves.push_back({metric.name, {}, {}});
  std::stable_partition(curves.begin(), curves.end(),
                        [](const ComparedCurve& curve) { return curve.name == "loss"; });
  add_points(a, diff.a_passes, 0, curves, &ComparedCurve::a);
  add_points(b, diff.b_passes, diff.b_offset, curves, &ComparedCurve::b);
  return curves;
}

}  // namespace

class DiffSession::Worker {
 public:
  Worker() {
    mail_.publish(std::make_shared<DiffSnapshot>());
    mail_.start("a comparison of recordings", [this] { return turn(); });
  }

  ~Worker() {
    mail_.close([this] { stop_.request_stop(); });
    mail_.join();
  }

  void send(DiffCommand command) {
    mail_.send(std::move(command), [this](auto& queue) {
      queue.clear();
      stop_.request_stop();
    });
  }

  const Mailbox<DiffCommand, DiffSnapshot>& mail() const { return mail_; }

 private:
  NextTurn turn();
  bool begin();
  Job<> handle(const diff_command::Compare& command);
  Job<> handle(const diff_command::Stop&) { co_return; }
  Job<> handle(const diff_command::Clear&) {
    const uint64_t version = now_.version;
    now_ = {};
    now_.version = version;
    co_return;
  }
  void publish();

  // shared with callers
  Mailbox<DiffCommand, DiffSnapshot> mail_;
  std::stop_source stop_;  ///< for the present or the next command; under the mailbox's lock

  // the worker's own
  DiffSnapshot now_;
  std::stop_token token_;
  std::optional<DiffCommand> command_;  ///< the present one
  std::optional<Job<>> job_;            ///< what is left to do for it
};

void DiffSession::Worker::publish() {
  ++now_.version;
  mail_.publish(std::make_shared<DiffSnapshot>(now_));
}

NextTurn DiffSession::Worker::turn() {
  if (!mail_.begin_turn()) return kEnds;
  try {
    if (!job_ && !begin()) return mail_.end_turn(false);
    if (!job_->go_on()) return mail_.end_turn(true);
  } catch (const Error& error) {
    now_.message = error.kind() == ErrorKind::Cancelled ? "The comparison was stopped before it was done."
                                                        : error.what();
  } catch (const std::exception& error) {
    now_.message = message_of(error);
  }
  job_.reset();
  now_.busy = now_.running = false;
  now_.activity.clear();
  publish();
  return mail_.end_turn(false);
}

/// Begins with the next command. Returns false if there is none.
bool DiffSession::Worker::begin() {
  // Made before the command is taken: a command that arrives from here on stops it.
  token_ = mail_.locked([this] { return (stop_ = std::stop_source()).get_token(); });
  command_ = mail_.take();
  if (!command_) return false;
  job_ = std::visit([this](const auto& wish) { return handle(wish); }, *command_);
  return true;
}

Job<> DiffSession::Worker::handle(const diff_command::Compare& command) {
  const auto& [a_path, b_path] = command.wish;
  now_.wish = command.wish;
  now_.compared = nullptr;
  now_.message.clear();
  now_.busy = true;
  now_.activity = "reading both recordings";
  publish();
  co_await GiveWay();
  const std::string a_file = recording_path(a_path);
  const Recording a(a_file);
  std::optional<RunAgain> again;
  if (b_path.empty()) {
    now_.running = true;
    now_.activity = "running A's settings here";
    publish();
    co_await GiveWay();
    again.emplace();
    co_await again->run(a, std::filesystem::path(a_path).filename().string(), token_);
    now_.running = false;
    now_.activity = "comparing";
    publish();
    co_await GiveWay();
  }
  const std::string b_file = again ? again->path() : recording_path(b_path);
  const Recording b(b_file);
  auto compared = std::make_shared<ComparedRuns>();
  compared->a = told(a, a_path, a_file);
  compared->b = told(b, b_path, again ? "" : b_file);
  co_await GiveWay();
  compared->diff = diff_recordings(a, b, token_);
  co_await GiveWay();
  compared->curves = curves_of(a, b, compared->diff);
  now_.compared = std::move(compared);
}

DiffSession::DiffSession() : worker_(std::make_unique<Worker>()) {}
DiffSession::~DiffSession() = default;
void DiffSession::send(DiffCommand command) {
  worker_->send(std::move(command));
}
std::shared_ptr<const DiffSnapshot> DiffSession::snapshot() const {
  return worker_->mail().snapshot();
}
std::shared_ptr<const DiffSnapshot> DiffSession::wait_until_idle(double timeout_seconds) const {
  return worker_->mail().wait_until_idle(timeout_seconds);
}

}  // namespace shardlens
