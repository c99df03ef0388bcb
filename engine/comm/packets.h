// Packets between processes: one process sends another a command or data as bytes. Both read the bytes in the
// same way because they run the same version of the program (ProcessWorld checks this).
#pragma once

#include <cstddef>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/comm/patience.h"
#include "engine/comm/processes.h"
#include "engine/config/error.h"

namespace shardlens {

/// Values one after the other; they are taken out in the order they were put in.
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
  std::vector<char> bytes_;  ///< begins with their number
  size_t taken_ = sizeof(uint64_t);
};

/// A process that did not take a packet in time, or did not send the rest of one.
class LateProcess : public Error {
 public:
  LateProcess(int process, const std::string& message) : Error(ErrorKind::Run, message), process_(process) {}
  int process() const { return process_; }

 private:
  int process_;
};

/// Packets of one kind, marked by their tag. Any thread may send; only one thread at a time may receive. A
/// call that waits for another process longer than `patience` allows throws a LateProcess, and that process
/// is sent nothing more.
class PacketLine {
 public:
  /// `patience` must outlive the line.
  PacketLine(Processes& processes, int tag, const ProcessPatience& patience)
      : processes_(processes), tag_(tag), patience_(patience) {}

  /// Returns when the packet has left; a large packet has left when the other process is receiving it. Waits
  /// at most `most_seconds`, if that is less than the patience.
  void send(int to, Packet packet, double most_seconds = std::numeric_limits<double>::infinity());
  /// Returns the oldest packet that has arrived, and which process sent it; nothing if there is none.
  std::optional<std::pair<int, Packet>> poll();
  /// Waits up to `seconds` for a packet.
  std::optional<std::pair<int, Packet>> poll_for(double seconds);

 private:
  void finish(Processes::Ticket ticket, int other, const char* what, std::vector<char>& bytes,
              double most_seconds);

  Processes& processes_;
  const int tag_;
  const ProcessPatience& patience_;
  std::timed_mutex sending_;                  ///< a large packet is several messages
  std::mutex mutex_;                          ///< protects the members below
  std::set<int> late_;                        ///< processes that are sent nothing more
  std::list<std::vector<char>> left_behind_;  ///< buffers that MPI may still read or write
};

}  // namespace shardlens
