// The worker behind a HistoryReader. Commands come first; between them it builds the overview where there is
// none. Of several stretches asked for in a row only the last is read.
#include "engine/runtime/history_reader.h"

#include <algorithm>
#include <thread>

#include "engine/config/error.h"
#include "engine/runtime/mailbox.h"

namespace shardlens {
namespace {

using namespace history_command;

constexpr double kBuildSeconds = 0.05;   // between two looks into the queue
constexpr int64_t kWholeBuckets = 2048;  // of a track, in the coarse picture of everything

}  // namespace

class HistoryReader::Worker {
 public:
  Worker() {
    mailbox_.publish(std::make_shared<HistorySnapshot>());
    thread_ = std::thread([this] { main(); });
  }
  ~Worker() {
    mailbox_.close();
    thread_.join();
  }

  void send(HistoryCommand command) {
    const bool looks = std::holds_alternative<Look>(command);
    mailbox_.send(std::move(command), [looks](Mailbox<HistoryCommand, HistorySnapshot>::Queue& queue) {
      if (looks)
        std::erase_if(queue, [](const HistoryCommand& old) { return std::holds_alternative<Look>(old); });
    });
  }
  const Mailbox<HistoryCommand, HistorySnapshot>& mailbox() const { return mailbox_; }

 private:
  void main() {
    while (mailbox_.wait(history_ && !history_->ready())) {
      try {
        if (auto command = mailbox_.take())
          std::visit([this](const auto& known) { handle(known); }, *command);
        else
          build();
      } catch (const std::exception& error) {  // a damaged file, or a disk that is gone
        history_.reset();
        now_.whole = now_.slice = nullptr;
        now_.message = error.what();
      }
      publish();
    }
  }

  void handle(const Open& wish) {
    history_.reset();
    now_ = {};
    now_.path = wish.path;
    history_ = std::make_unique<History>(wish.path, wish.program);
    now_.end_ns = history_->end_ns();
    now_.passes = history_->passes();
    now_.ranks = history_->ranks();
    if (history_->ready()) look_at_all();
  }

  void handle(const Close&) {
    history_.reset();
    now_ = {};
  }

  void handle(const Look& wish) {
    if (!history_) return;
    now_.slice_number = wish.number;
    if (!history_->ready()) return;
    now_.slice = std::make_shared<HistorySlice>(history_->slice(wish.begin_ns, wish.end_ns, wish.bucket_ns));
  }

  void handle(const Find& wish) {
    if (!history_) return;
    now_.found_number = wish.number;
    now_.found = history_->find(wish.question);
  }

  void build() {
    now_.built = history_->build_for(kBuildSeconds);
    if (history_->ready()) look_at_all();
  }

  void look_at_all() {
    now_.built = 1;
    const int64_t bucket = std::max<int64_t>(1, 4 * now_.end_ns / kWholeBuckets);
    now_.whole = std::make_shared<HistorySlice>(history_->slice(0, now_.end_ns, bucket));
  }

  void publish() { mailbox_.publish(std::make_shared<HistorySnapshot>(now_)); }

  Mailbox<HistoryCommand, HistorySnapshot> mailbox_;
  // the worker's own
  HistorySnapshot now_;
  std::unique_ptr<History> history_;
  std::thread thread_;
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
