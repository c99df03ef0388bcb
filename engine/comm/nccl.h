// The communicator over NCCL, NVIDIA's library, for ranks with a GPU each. Ranks are threads of this process
// or processes of a run. The library is opened at run time and not linked: it is as large as everything else
// together, and many machines have it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/comm/comm.h"
#include "engine/comm/host_meeting.h"

namespace shardlens {

/// Returns NCCL's own version number, 22809 for 2.28.9. If NCCL is not there, returns 0, and *why says how to
/// get it.
int nccl_version(std::string* why);

/// Makes one communicator a rank. They find each other when they are attached to their devices. A rank that
/// does not come, to the start or to a collective, is lost after `patience_seconds`: then all ranks throw a
/// run Error that names it and the collective. `ranks_per_gpu`: the largest number of ranks on one GPU, over
/// all groups. `spins`: as in make_local_cuda_group().
std::vector<std::unique_ptr<Communicator>> make_nccl_group(int ranks, int ranks_per_gpu,
                                                           const std::string& reason, double patience_seconds,
                                                           bool spins = false);

/// Makes this process's rank in a group of processes. The ranks use `meeting` to start, and as a barrier
/// before every collective: all ranks learn there which rank did not come, and requests are compared. A
/// collective that all ranks reached but that is not done in time is a run Error.
std::unique_ptr<Communicator> make_nccl_rank(std::unique_ptr<HostMeeting> meeting, int ranks_per_gpu,
                                             const std::string& reason, double patience_seconds);

}  // namespace shardlens
