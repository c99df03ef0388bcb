// Processes as threads, whose messages stay in this process: tests what processes send each other without
// MPI.
#pragma once

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "engine/comm/processes.h"

namespace shardlens {

/// What all of them share: messages by (from, to, tag), and receives that wait for one.
struct ThreadPost {
  std::mutex mutex;
  std::map<std::tuple<int, int, int>, std::deque<std::vector<char>>> waiting;
  int64_t messages = 0;
};

class ThreadProcesses final : public Processes {
 public:
  ThreadProcesses(std::shared_ptr<ThreadPost> post, int index, int count)
      : post_(std::move(post)), index_(index), count_(count) {}

  int index() const override { return index_; }
  int count() const override { return count_; }
  std::string host() const override { return host_name; }
  std::string carrier() const override { return "threads"; }

  Ticket send(int to, int tag, const void* bytes, size_t count) override {
    const std::lock_guard lock(post_->mutex);
    const char* first = static_cast<const char*>(bytes);
    post_->waiting[{index_, to, tag}].emplace_back(first, first + count);
    ++post_->messages;
    return 0;
  }
  Ticket receive(int from, int tag, void* bytes, size_t count) override {
    const std::lock_guard lock(post_->mutex);
    receives_[++last_] = {from, tag, bytes, count};
    order_[{from, tag}].push_back(last_);
    return last_;
  }
  bool is_done(Ticket ticket) override {
    if (ticket == 0) return true;
    const std::lock_guard lock(post_->mutex);
    const Receive& wanted = receives_.at(ticket);
    auto& order = order_[{wanted.from, wanted.tag}];
    auto& box = post_->waiting[{wanted.from, index_, wanted.tag}];
    if (order.front() != ticket || box.empty()) return false;
    if (box.front().size() != wanted.count)
      throw std::runtime_error("a message of another size than expected");
    if (wanted.count > 0) std::memcpy(wanted.bytes, box.front().data(), wanted.count);
    box.pop_front();
    order.pop_front();
    receives_.erase(ticket);
    return true;
  }
  void give_up(Ticket ticket) override {
    if (ticket == 0) return;
    const std::lock_guard lock(post_->mutex);
    const Receive& wanted = receives_.at(ticket);
    std::erase(order_[{wanted.from, wanted.tag}], ticket);
    receives_.erase(ticket);
  }
  std::optional<Incoming> incoming(int tag) override {
    const std::lock_guard lock(post_->mutex);
    for (int from = 0; from < count_; ++from) {
      const auto box = post_->waiting.find({from, index_, tag});
      if (box != post_->waiting.end() && !box->second.empty())
        return Incoming{from, box->second.front().size()};
    }
    return std::nullopt;
  }

  std::string host_name = "here";

 private:
  struct Receive {
    int from, tag;
    void* bytes;
    size_t count;
  };
  const std::shared_ptr<ThreadPost> post_;
  const int index_, count_;
  std::map<Ticket, Receive> receives_;
  std::map<std::pair<int, int>, std::deque<Ticket>> order_;
  Ticket last_ = 0;
};

inline std::vector<std::unique_ptr<ThreadProcesses>> make_thread_processes(int count) {
  const auto post = std::make_shared<ThreadPost>();
  std::vector<std::unique_ptr<ThreadProcesses>> processes;
  for (int index = 0; index < count; ++index)
    processes.push_back(std::make_unique<ThreadProcesses>(post, index, count));
  return processes;
}

}  // namespace shardlens
