// The worker behind a HistoryReader. Commands come first; between them it builds the overview if there is
// none, and reads what a live recording has grown by. Of several Looks in a row only the last is read.
#include "engine/runtime/recordings/history_reader.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/io/file_problem.h"
#include "engine/runtime/mailbox.h"

namespace shardlens {
namespace {

constexpr double kBuildSeconds = 0.05;   // between two checks of the queue
constexpr double kFollowSeconds = 0.5;   // between two checks of a growing file
constexpr int64_t kWholeBuckets = 2048;  // for each track, in the coarse picture of the whole recording

}  // namespace

class HistoryReader::Worker {
 public:
  Worker() {
    mailbox_.publish(std::make_shared<HistorySnapshot>());
    mailbox_.start("the curves of a recording", [this] { return turn(); });
  }
  ~Worker() {
    mailbox_.close();
    mailbox_.join();
  }

  void send(HistoryCommand command) {
    const bool looks = std::holds_alternative<history_command::Look>(command);
    mailbox_.send(std::move(command), [looks](Mailbox<HistoryCommand, HistorySnapshot>::Queue& queue) {
      if (looks)
        std::erase_if(queue, [](const HistoryCommand& old) {
          return std::holds_alternative<history_command::Look>(old);
        });
    });
  }
  const Mailbox<HistoryCommand, HistorySnapshot>& mailbox() const { return mailbox_; }

 private:
  NextTurn turn() {
    if (!mailbox_.begin_turn()) return kEnds;
    try {
      if (work()) publish();
    } catch (const std::exception& error) {  // a damaged file, or a disk that is gone
      const auto* known = dynamic_cast<const Error*>(&error);
      const bool was_busy = live_ && known != nullptr && known->kind() != ErrorKind::Request;
      if (!was_busy) {
        live_ = false;
        history_.reset();
        now_.whole = now_.slice = nullptr;
        now_.message = message_of(error);
        publish();
      }
    }
    return live_ ? mailbox_.end_turn(can_build(), kFollowSeconds) : mailbox_.end_turn(can_build());
  }

  /// Returns true if there was something to do.
  bool work() {
    if (auto command = mailbox_.take())
      std::visit([this](const auto& known) { handle(known); }, *command);
    else if (live_ && !history_->is_behind())
      follow();
    else if (can_build())
      build();
    else
      return false;
    return true;
  }

  bool can_build() const {
    if (!history_) return false;
    const bool has_passes = history_->passes() > 0;
    return history_->ready() ? history_->is_behind() && has_passes : has_passes || !live_;
  }

  void handle(const history_command::Open& wish) {
    live_ = false;
    history_.reset();
    now_ = {};
    now_.path = wish.path;
    program_ = wish.program;
    open();
  }

  void open() {
    history_ = std::make_unique<History>(now_.path, program_);
    now_.live = live_ = history_->is_live();
    tell();
    if (history_->ready()) look_at_all();
  }

  void tell() {
    now_.end_ns = history_->end_ns();
    now_.passes = history_->passes();
    now_.ranks = history_->world_size();
  }

  /// Reads what was committed since the last time; the old data stays visible until the new is there.
  void follow() {
    const int64_t before = history_->passes();
    if (!history_->follow()) return open();
    if (history_->passes() > before) tell();
  }

  void handle(const history_command::Close&) {
    live_ = false;
    history_.reset();
    now_ = {};
  }

  void handle(const history_command::Look& wish) {
    if (!history_) return;
    now_.slice_number = wish.number;
    if (!history_->ready()) return;
    now_.slice = std::make_shared<HistorySlice>(history_->slice(wish.begin_ns, wish.end_ns, wish.bucket_ns));
  }

  void handle(const history_command::Find& wish) {
    if (!history_) return;
    now_.found_number = wish.number;
    now_.found = history_->find(wish.question);
  }

  void build() {
    const double share = history_->build_for(kBuildSeconds);
    if (!live_ || now_.built < 1) now_.built = share;  // the data that is already there stays visible
    if (history_->ready() && !history_->is_behind()) look_at_all();
  }

  void look_at_all() {
    now_.built = 1;
    const int64_t bucket = std::max<int64_t>(1, 4 * now_.end_ns / kWholeBuckets);
    now_.whole = std::make_shared<HistorySlice>(history_->slice(0, now_.end_ns, bucket));
  }

  void publish() { mailbox_.publish(std::make_shared<HistorySnapshot>(now_)); }

  Mailbox<HistoryCommand, HistorySnapshot> mailbox_;
  // only the worker uses these
  HistorySnapshot now_;
  std::unique_ptr<History> history_;
  std::shared_ptr<const Program> program_;
  bool live_ = false;  ///< a run still writes it
};

HistoryReader::HistoryReader() : worker_(std::make_unique<Worker>()) {}
HistoryReader::~HistoryReader() = default;

void HistoryReader::send(HistoryCommand command) {
  worker_->send(std::move(command));
}

std::shared_ptr<const HistorySnapshot> HistoryReader::snapshot() const {
  return worker_->mailbox().snapshot();
}

std::shared_ptr<const HistorySnapshot> HistoryReader::wait_until_idle(double timeout_seconds) const {
  return worker_->mailbox().wait_until_idle(timeout_seconds);
}

}  // namespace shardlens
