// Whole packets between processes: what one wants another to do or to know, as bytes that both read the same
// way, since they are of one version (ProcessWorld sees to that).
#pragma once

#include <cstddef>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/comm/processes.h"

namespace shardlens {

/// Values one after the other; taken out in the order they were put in.
class Packet {
 public:
  Packet() : bytes_(sizeof(uint64_t)) {}
  explicit Packet(std::vector<char> bytes) : bytes_(std::move(bytes)) {}

  template <typename T>
  Packet& put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return put_bytes(&value, sizeof value);
  }
  Packet& put(const std::string& text) {
    put(static_cast<uint64_t>(text.size()));
    return put_bytes(text.data(), text.size());
  }
  template <typename T>
  Packet& put(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    put(static_cast<uint64_t>(values.size()));
    return put_bytes(values.data(), values.size() * sizeof(T));
  }
  Packet& put_bytes(const void* bytes, size_t count);

  template <typename T>
  T take() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(&value, take_bytes(sizeof value), sizeof value);
    return value;
  }
  std::string take_text() {
    const auto count = static_cast<size_t>(take<uint64_t>());
    return std::string(take_bytes(count), count);
  }
  template <typename T>
  std::vector<T> take_list() {
    std::vector<T> values(static_cast<size_t>(take<uint64_t>()));
    const char* bytes = take_bytes(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes, values.size() * sizeof(T));
    return values;
  }
  /// The next `count` bytes, which live as long as the packet.
  const char* take_bytes(size_t count);

 private:
  friend class PacketLine;
  std::vector<char> bytes_;  ///< their number comes first
  size_t taken_ = sizeof(uint64_t);
};

/// Packets of one kind, by their tag. Any thread may send; one at a time receives.
class PacketLine {
 public:
  PacketLine(Processes& processes, int tag) : processes_(processes), tag_(tag) {}

  /// Returns when the packet has left, which for a large one is when it is being received.
  void send(int to, Packet packet);
  /// The oldest packet that is there, and who sent it.
  std::optional<std::pair<int, Packet>> poll();
  /// Waits for one.
  std::optional<std::pair<int, Packet>> poll_for(double seconds);

 private:
  void finish(Processes::Ticket ticket);

  Processes& processes_;
  const int tag_;
  std::mutex sending_;  ///< a large packet is several messages
};

}  // namespace shardlens
