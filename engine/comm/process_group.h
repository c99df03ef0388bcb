// The communicator over processes: the same collectives as between threads, carried as messages. Sums use the
// same kernels in the same order, so the bits are those of the local communicator.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "engine/comm/comm.h"
#include "engine/comm/departed.h"
#include "engine/comm/host_meeting.h"
#include "engine/comm/processes.h"

namespace shardlens {

/// This process's place in a group.
struct ProcessGroup {
  std::vector<int> members;  ///< [rank]: its process
  int rank = 0;              ///< of this process
  int tag = 0;               ///< of this group's messages; no other group of these processes uses it
  /// True if every rank on this machine has its own core. Then a wait may keep the core busy.
  bool has_own_core = false;
  /// Seconds to add to this process's clock to get the clock of all; outlives the communicator.
  const std::atomic<double>* clock_offset_seconds = nullptr;
  double patience_seconds = kNoTimeout;            ///< how long it waits for the others
  const std::atomic<bool>* told_to_end = nullptr;  ///< as in ProcessPatience
  const DepartedProcesses* departed = nullptr;     ///< as in ProcessPatience; outlives the communicator
  CommunicatorInfo info;
  size_t most_message_bytes = Processes::kMostBytes;  ///< larger pieces travel in several messages
  size_t block_bytes = size_t{1} << 20;  ///< an all-reduce runs in blocks of this many bytes per rank
};

/// Makes the communicator of this process's rank; `processes` must outlive it. abort() wakes the rank in this
/// process only; the code that called it must tell the other ranks. A group that was aborted in the middle of
/// a collective leaves messages behind, so no later group may use its tag.
std::unique_ptr<Communicator> make_process_communicator(Processes& processes, ProcessGroup group);
/// The same without the data: only the barrier of the ranks.
std::unique_ptr<HostMeeting> make_process_meeting(Processes& processes, ProcessGroup group);

}  // namespace shardlens
