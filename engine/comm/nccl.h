// The communicator over NVIDIA's library: ranks with a GPU each, threads of this process or processes of a
// run. The library is opened when it is asked for and not linked: it is as large as everything else together,
// and many machines have it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/comm/comm.h"
#include "engine/comm/host_meeting.h"

namespace shardlens {

/// As NCCL numbers itself, 22809 for 2.28.9; 0, and a sentence with a remedy in *why, where it is not there.
int nccl_version(std::string* why);

/// One communicator a rank. They find each other when they are attached to their devices. A rank that does
/// not come, there or to a collective, is lost after `patience_seconds`: then all throw a run Error that
/// names it and the collective. `ranks_per_gpu`: the most that are on one GPU, of all groups' ranks. `spins`:
/// as make_local_cuda_group().
std::vector<std::unique_ptr<Communicator>> make_nccl_group(int ranks, int ranks_per_gpu,
                                                           const std::string& reason, double patience_seconds,
                                                           bool spins = false);

/// This process's rank in a group of processes. They begin, and meet before every collective, in `meeting`,
/// so that who does not come is lost there, to all others, by name; and requests are compared. A collective
/// that all came to and that is not done in time is a run Error.
std::unique_ptr<Communicator> make_nccl_rank(std::unique_ptr<HostMeeting> meeting, int ranks_per_gpu,
                                             const std::string& reason, double patience_seconds);

}  // namespace shardlens
