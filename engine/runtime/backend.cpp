// CPU: a share of the cores for each rank, and groups of threads. GPUs: devices and groups from the GPU
// plug-in.
#include "engine/runtime/backend.h"

#include <algorithm>
#include <utility>

#include "engine/comm/lockstep.h"
#include "engine/device/gpu_environment.h"
#include "engine/device/gpu_plugin.h"
#include "engine/runtime/run_failure.h"

namespace shardlens {
namespace {

class CpuBackend final : public Backend {
 public:
  CpuBackend(const Choice& choice, double patience_seconds)
      : takes_turns_(choice.communicator == CommunicatorChoice::Lockstep),
        patience_seconds_(patience_seconds),
        why_(choice.reason) {}

  std::unique_ptr<Device> make_device(int, int threads) override { return make_cpu_device(threads); }

  std::vector<std::unique_ptr<Communicator>> make_group(int ranks, int threads) override {
    return takes_turns_ ? make_lockstep_group(ranks) : make_local_group(ranks, threads, patience_seconds_);
  }

  std::string why() const override { return why_; }

 private:
  const bool takes_turns_;
  const double patience_seconds_;
  const std::string why_;
};

class GpuBackend final : public Backend {
 public:
  GpuBackend(Choice choice, const Settings& settings)
      : choice_(std::move(choice)), settings_(settings), patience_seconds_(timeout_seconds(settings)) {
    let_share(choice_);
  }

  std::unique_ptr<Device> make_device(int rank, int threads) override {
    return make_chosen_device(choice_, settings_, rank, threads);
  }

  std::vector<std::unique_ptr<Communicator>> make_group(int ranks, int threads) override {
    const bool core_per_thread = std::max(ranks, threads) <= available_cores();
    // A single rank exchanges nothing: its group need not start NCCL.
    if (choice_.communicator == CommunicatorChoice::Nccl && ranks > 1)
      return gpu_plugin().make_nccl_group(ranks, choice_.ranks_per_gpu, choice_.reason, patience_seconds_,
                                          core_per_thread);
    return gpu_plugin().make_local_cuda_group(ranks, choice_.reason, patience_seconds_, core_per_thread);
  }

  bool on_gpus() const override { return true; }

 private:
  const Choice choice_;
  const Settings settings_;
  const double patience_seconds_;
};

}  // namespace

std::unique_ptr<Device> make_chosen_device(const Choice& choice, const Settings& settings, int rank,
                                           int threads) {
  if (!choice.on_gpus) return make_cpu_device(threads);
  return gpu_plugin().make_device(choice.gpu_of_rank[static_cast<size_t>(rank)], settings.tf32);
}

void let_share(const Choice& choice) {
  if (choice.communicator == CommunicatorChoice::Nccl && choice.ranks_per_gpu > 1) let_nccl_share_gpus();
}

std::shared_ptr<Backend> make_backend(const Settings& settings) {
  // The plug-in is opened only if GPUs were asked for.
  const GpuFacts facts = settings.backend == BackendChoice::Cpu ? GpuFacts{} : gpu_facts();
  const Choice choice = choose(settings, facts);
  if (!choice.on_gpus) return std::make_shared<CpuBackend>(choice, timeout_seconds(settings));
  return std::make_shared<GpuBackend>(choice, settings);
}

}  // namespace shardlens
