// The communicator over processes: the same collectives as between threads, carried as messages. What is
// summed is summed by the same kernels in the same order, so the bits are those of the local communicator.
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
  int tag = 0;               ///< of this group's messages; no other group of these processes has it
  /// May be waited for without giving the core away: every rank on this machine has one of its own.
  bool has_own_core = false;
  /// Seconds by which this process's clock must be put forward to be that of all; outlives the communicator.
  const std::atomic<double>* clock_offset_seconds = nullptr;
  double patience_seconds = kNoTimeout;            ///< so long it waits for the others
  const std::atomic<bool>* told_to_end = nullptr;  ///< as ProcessPatience's
  const DepartedProcesses* departed = nullptr;     ///< as ProcessPatience's; outlives the communicator
  CommunicatorInfo info;
  size_t most_message_bytes = Processes::kMostBytes;  ///< larger pieces travel in several messages
  size_t block_bytes = size_t{1} << 20;  ///< an all-reduce goes on in blocks of so many bytes a rank
};

/// This process's rank's communicator; `processes` outlives it. abort() wakes the rank in this process; the
/// other ranks are told by who told this one. A group that was aborted in the middle of a collective leaves
/// messages behind: no later group may have its tag.
std::unique_ptr<Communicator> make_process_communicator(Processes& processes, ProcessGroup group);
/// The same without the data: the ranks' meetings alone.
std::unique_ptr<HostMeeting> make_process_meeting(Processes& processes, ProcessGroup group);

}  // namespace shardlens
