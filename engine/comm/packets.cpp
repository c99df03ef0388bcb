// Sends packets as messages and puts messages together to packets.
#include "engine/comm/packets.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "engine/config/clock.h"

namespace shardlens {
namespace {

// The extra time before this reports a lost process: the ranks that wait for it in a collective report first,
// because they know the step.
constexpr double kSpokenForSeconds = 2;
constexpr double kToldSeconds = 0.5;
// Messages that a process sent before it ended may still be on their way for this long.
constexpr double kEndedSeconds = 0.2;

}  // namespace

Packet& Packet::put_bytes(const void* bytes, size_t count) {
  const auto* first = static_cast<const char*>(bytes);
  bytes_.insert(bytes_.end(), first, first + count);
  return *this;
}

const char* Packet::take_bytes(size_t count) {
  if (bytes_.size() - taken_ < count) throw std::logic_error("a packet is shorter than what is read from it");
  const char* first = bytes_.data() + taken_;
  taken_ += count;
  return first;
}

// Waits until `bytes` are sent or received. If it gives up, they stay in place, because MPI may still use
// them.
void PacketLine::finish(Processes::Ticket ticket, int other, const char* what, std::vector<char>& bytes,
                        double most_seconds) {
  PatientWait wait(patience_.told_to_end, kToldSeconds);
  while (!processes_.is_done(ticket)) {
    const bool is_late = wait.is_enough(std::min(most_seconds, patience_.seconds + kSpokenForSeconds));
    const bool has_ended = wait.waited_seconds() > kEndedSeconds && patience_.has_ended(other);
    if (is_late || has_ended) {
      processes_.give_up(ticket);
      const std::lock_guard lock(mutex_);
      late_.insert(other);
      left_behind_.push_back(std::move(bytes));
      throw LateProcess(other, fmt::format("{}has not {} for {:.1f} s", has_ended ? "has ended, and " : "",
                                           what, wait.waited_seconds()));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

void PacketLine::send(int to, Packet packet, double most_seconds) {
  std::vector<char>& bytes = packet.bytes_;
  const auto total = static_cast<uint64_t>(bytes.size());
  std::memcpy(bytes.data(), &total, sizeof total);
  std::unique_lock sending(sending_, std::defer_lock);
  for (PatientWait wait(patience_.told_to_end, kToldSeconds);
       !sending.try_lock_for(std::chrono::milliseconds(20));) {
    if (wait.is_enough(std::min(most_seconds, patience_.seconds + kSpokenForSeconds)))
      throw LateProcess(to, fmt::format("could not be sent a message for {:.1f} s", wait.waited_seconds()));
  }
  {
    const std::lock_guard lock(mutex_);
    if (late_.contains(to)) throw LateProcess(to, "has not accepted an earlier message");
  }
  for (size_t begin = 0; begin < bytes.size(); begin += Processes::kMostBytes) {
    const size_t count = std::min(Processes::kMostBytes, bytes.size() - begin);
    finish(processes_.send(to, tag_, bytes.data() + begin, count), to, "accepted a message", bytes,
           most_seconds);
  }
}

std::optional<std::pair<int, Packet>> PacketLine::poll() {
  const auto first = processes_.incoming(tag_);
  if (!first) return std::nullopt;
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  const char* const what = "sent the rest of a message";
  std::vector<char> bytes(first->count);
  finish(processes_.receive(first->from, tag_, bytes.data(), first->count), first->from, what, bytes,
         kNoLimit);
  uint64_t total = 0;
  std::memcpy(&total, bytes.data(), sizeof total);
  size_t there = bytes.size();
  bytes.resize(static_cast<size_t>(total));
  while (there < bytes.size()) {
    const size_t count = std::min(Processes::kMostBytes, bytes.size() - there);
    finish(processes_.receive(first->from, tag_, bytes.data() + there, count), first->from, what, bytes,
           kNoLimit);
    there += count;
  }
  return std::pair(first->from, Packet(std::move(bytes)));
}

std::optional<std::pair<int, Packet>> PacketLine::poll_for(double seconds) {
  const double limit = now_seconds() + seconds;
  for (;;) {
    if (auto packet = poll()) return packet;
    if (now_seconds() > limit) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

}  // namespace shardlens
