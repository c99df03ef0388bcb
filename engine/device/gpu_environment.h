// The environment variables that CUDA and NCCL read. A variable that the user has set is kept.
#pragma once

namespace shardlens {

/// Sets the variables. `main` calls it before there are other threads, because a thread that reads the
/// environment must not meet one that changes it.
void prepare_gpu_environment();

/// From now on NCCL lets ranks share a GPU, an experiment of NCCL's. Call it before the first group that
/// shares. Any thread may call it: it changes one character of a value that is there already.
void let_nccl_share_gpus();

}  // namespace shardlens
