// Packets to messages.
#include "engine/comm/packets.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "engine/config/clock.h"

namespace shardlens {

Packet& Packet::put_bytes(const void* bytes, size_t count) {
  const auto* first = static_cast<const char*>(bytes);
  bytes_.insert(bytes_.end(), first, first + count);
  return *this;
}

const char* Packet::take_bytes(size_t count) {
  if (bytes_.size() - taken_ < count) throw std::logic_error("a packet is shorter than what is read of it");
  const char* first = bytes_.data() + taken_;
  taken_ += count;
  return first;
}

void PacketLine::finish(Processes::Ticket ticket) {
  while (!processes_.is_done(ticket)) std::this_thread::sleep_for(std::chrono::microseconds(20));
}

void PacketLine::send(int to, Packet packet) {
  std::vector<char>& bytes = packet.bytes_;
  const auto total = static_cast<uint64_t>(bytes.size());
  std::memcpy(bytes.data(), &total, sizeof total);
  const std::lock_guard lock(sending_);
  for (size_t begin = 0; begin < bytes.size(); begin += Processes::kMostBytes) {
    const size_t count = std::min(Processes::kMostBytes, bytes.size() - begin);
    finish(processes_.send(to, tag_, bytes.data() + begin, count));
  }
}

std::optional<std::pair<int, Packet>> PacketLine::poll() {
  const auto first = processes_.incoming(tag_);
  if (!first) return std::nullopt;
  std::vector<char> bytes(first->count);
  finish(processes_.receive(first->from, tag_, bytes.data(), first->count));
  uint64_t total = 0;
  std::memcpy(&total, bytes.data(), sizeof total);
  size_t there = bytes.size();
  bytes.resize(static_cast<size_t>(total));
  while (there < bytes.size()) {
    const size_t count = std::min(Processes::kMostBytes, bytes.size() - there);
    finish(processes_.receive(first->from, tag_, bytes.data() + there, count));
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
