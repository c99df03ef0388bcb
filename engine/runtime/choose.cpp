// The rule and its refusals.
#include "engine/runtime/choose.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/base/worker.h"
#include "engine/comm/nccl_sharing.h"

namespace shardlens {
namespace {

std::string numbers_of(const std::vector<Gpu>& gpus) {
  std::vector<int> numbers;
  for (const Gpu& gpu : gpus) numbers.push_back(gpu.number);
  return fmt::format("{}", fmt::join(numbers, ", "));
}

// Returns the numbers of the GPUs to use, of those that `who` ("this machine") has: those asked for, or all.
std::vector<int> gpus_asked_for(const Settings& settings, const GpuFacts& facts,
                                const std::string& who = "this machine") {
  std::vector<int> numbers;
  for (const Gpu& gpu : facts.gpus) {
    if (settings.gpus.empty()) numbers.push_back(gpu.number);
  }
  for (const int number : settings.gpus) {
    const bool is_there = std::any_of(facts.gpus.begin(), facts.gpus.end(),
                                      [&](const Gpu& gpu) { return gpu.number == number; });
    if (!is_there) {
      throw request_error(fmt::format("--gpu {}: {} has {}, number {}", number, who,
                                      counted(facts.gpus.size(), "GPU"), numbers_of(facts.gpus)));
    }
    if (std::find(numbers.begin(), numbers.end(), number) != numbers.end())
      throw request_error(fmt::format("--gpu names GPU {} twice; ranks share GPUs by themselves", number));
    numbers.push_back(number);
  }
  return numbers;
}

// Refuses options that are only about GPUs if the CPU was asked for.
void refuse_gpu_options(const Settings& settings) {
  if (!settings.gpus.empty())
    throw request_error("--gpu chooses among GPUs, and these ranks compute on the CPU; add --backend cuda");
  if (settings.tf32)
    throw request_error(
        "--tf32 rounds what GPUs multiply, and these ranks compute on the CPU, in fp32; leave it out, or add "
        "--backend cuda");
}

// True if the run may use the CPU when GPUs cannot be used.
bool may_fall_back(const Settings& settings) {
  return settings.backend == BackendChoice::Auto && settings.gpus.empty() && !settings.tf32;
}

Choice on_cpu(const Settings& settings, const std::string& why) {
  switch (settings.communicator) {
    case CommunicatorChoice::LocalCuda:
    case CommunicatorChoice::Nccl:
      throw request_error(
          fmt::format("--comm {} joins ranks on GPUs, and these compute on the CPU{}; leave --comm out, or "
                      "{}",
                      to_string(settings.communicator), why.empty() ? "" : " (" + why + ")",
                      why.empty() ? "add --backend cuda" : "give the ranks a GPU"));
    case CommunicatorChoice::Mpi:
      // In such a run, a Program for a single rank runs in its own process.
      return {false,
              CommunicatorChoice::Mpi,
              {},
              settings.tp * settings.dp == 1 ? "a single rank exchanges nothing, so mpi is not used" : ""};
    case CommunicatorChoice::Lockstep:
      return {false, CommunicatorChoice::Lockstep, {}, why};
    case CommunicatorChoice::Auto:
    case CommunicatorChoice::Local:
      break;
  }
  if (ranks_take_turns(settings)) return {false, CommunicatorChoice::Lockstep, {}, why};
  return {false, CommunicatorChoice::Local, {}, why};
}

// All ranks on the first of the GPUs; their own kernel joins them.
Choice shared_by_kernel(size_t ranks, int gpu, const std::string& why) {
  std::string reason = fmt::format("{} on GPU {}", counted(ranks, "rank"), gpu);
  if (!why.empty()) reason += ": " + why;
  return {true, CommunicatorChoice::LocalCuda, std::vector<int>(ranks, gpu), reason, static_cast<int>(ranks)};
}

// Returns why NCCL cannot serve so many ranks on each of these GPUs at once; empty: it can.
std::string no_room_for_nccl(const GpuFacts& facts, const std::vector<int>& gpus, int ranks_per_gpu) {
  if (ranks_per_gpu > kMostRanksOfAGpuByNccl)
    return fmt::format("NCCL lets at most {} ranks share a GPU", kMostRanksOfAGpuByNccl);
  for (const Gpu& gpu : facts.gpus) {
    const bool used = std::find(gpus.begin(), gpus.end(), gpu.number) != gpus.end();
    if (used && ranks_per_gpu > 1 && nccl_blocks_of_a_rank(gpu.multiprocessors, ranks_per_gpu) == 0)
      return fmt::format("GPU {} with its {} has no room for the NCCL kernels of {} at once", gpu.number,
                         counted(gpu.multiprocessors, "multiprocessor"), counted(ranks_per_gpu, "rank"));
  }
  return {};
}

Choice on_gpus(const Settings& settings, const GpuFacts& facts) {
  const std::vector<int> gpus = gpus_asked_for(settings, facts);
  const auto ranks = static_cast<size_t>(settings.tp * settings.dp);
  const bool shared = ranks > gpus.size();
  const std::string nccl =
      facts.nccl_version == 0 ? "no NCCL" : "NCCL " + nccl_version_text(facts.nccl_version);
  const auto ranks_per_gpu = static_cast<int>((ranks + gpus.size() - 1) / gpus.size());
  const std::string why_not = facts.nccl_version == 0 ? facts.why_no_nccl
                              : !shared               ? ""
                              : facts.nccl_version < kNcclSharesGpus
                                  ? fmt::format("{} refuses several ranks on a GPU, {} and newer do not",
                                                nccl, nccl_version_text(kNcclSharesGpus))
                                  : no_room_for_nccl(facts, gpus, ranks_per_gpu);
  const bool nccl_can = why_not.empty();
  switch (settings.communicator) {
    case CommunicatorChoice::Local:
    case CommunicatorChoice::Lockstep:
      throw request_error(fmt::format(
          "--comm {} joins ranks that compute on the CPU; on GPUs use --comm auto, nccl or local_cuda",
          to_string(settings.communicator)));
    case CommunicatorChoice::Mpi:
      // A Program for a single rank in such a run, to compare with.
      if (ranks == 1) return shared_by_kernel(1, gpus.front(), "");
      throw request_error(
          "--comm mpi joins processes that mpirun started, and this process is alone: start it with mpirun "
          "-n, or use --comm auto");
    case CommunicatorChoice::LocalCuda:
      return shared_by_kernel(ranks, gpus.front(), "");
    case CommunicatorChoice::Nccl:
      if (!nccl_can) {
        throw request_error(
            fmt::format("--comm nccl: {} on {}, and {}; use --comm local_cuda, by which ranks share a GPU{}",
                        counted(ranks, "rank"), counted(gpus.size(), "GPU"), why_not,
                        facts.nccl_version > 0 && facts.nccl_version < kNcclSharesGpus
                            ? fmt::format(", or at most {}", counted(gpus.size(), "rank"))
                            : ""));
      }
      break;
    case CommunicatorChoice::Auto:
      if (ranks == 1) return shared_by_kernel(1, gpus.front(), "");
      if (!nccl_can) return shared_by_kernel(ranks, gpus.front(), why_not);
      // CUDA may order a rank's launch behind a collective of another group which itself waits for that
      // launch: NcclGroup keeps apart only the ranks of one group.
      if (shared && groups_of_a_rank(settings) > 1)
        return shared_by_kernel(ranks, gpus.front(),
                                fmt::format("NCCL lets ranks of one group share a GPU, and each is in {}",
                                            groups_of_a_rank(settings)));
      break;
  }
  std::vector<int> gpu_of_rank;
  for (size_t rank = 0; rank < ranks; ++rank) gpu_of_rank.push_back(gpus[rank % gpus.size()]);
  const std::string where = shared ? "sharing " + counted(gpus.size(), "GPU") : "a GPU each";
  return {true, CommunicatorChoice::Nccl, gpu_of_rank,
          fmt::format("{}, {}, {}", counted(ranks, "rank"), where, nccl), ranks_per_gpu};
}

std::string name_of(const ProcessFacts& rank) {
  return fmt::format("process {} on {}", rank.process, rank.host);
}

// Why ranks that are processes cannot all compute on GPUs, and what would help.
struct Obstacle {
  std::string why, remedy;
};

std::optional<Obstacle> some_have_no_gpu(const std::vector<ProcessFacts>& ranks) {
  const auto has_gpus = [](const ProcessFacts& rank) { return !rank.facts.gpus.empty(); };
  const auto none = std::find_if_not(ranks.begin(), ranks.end(), has_gpus);
  if (none == ranks.end()) return std::nullopt;
  const auto other = std::find_if(ranks.begin(), ranks.end(), has_gpus);
  std::string why = fmt::format("{} has no GPU: {}", name_of(*none), none->facts.why_no_gpu);
  if (other != ranks.end())
    why = fmt::format("{} has {}, and {}", name_of(*other), counted(other->facts.gpus.size(), "GPU"), why);
  return Obstacle{why, "use --backend cpu"};
}

std::optional<Obstacle> nccl_is_not_one(const std::vector<ProcessFacts>& ranks) {
  for (const ProcessFacts& rank : ranks) {
    if (rank.facts.nccl_version == 0)
      return Obstacle{fmt::format("{} has no NCCL, by which processes meet on GPUs: {}", name_of(rank),
                                  rank.facts.why_no_nccl),
                      "use --backend cpu"};
    if (rank.facts.nccl_version != ranks.front().facts.nccl_version)
      return Obstacle{fmt::format("{} has NCCL {}, {} has {}", name_of(ranks.front()),
                                  nccl_version_text(ranks.front().facts.nccl_version), name_of(rank),
                                  nccl_version_text(rank.facts.nccl_version)),
                      "install the same on all machines"};
  }
  return std::nullopt;
}

// Names a GPU in the same way for all processes.
std::pair<std::string, std::string> device_of(const ProcessFacts& rank, int number) {
  return {rank.host, gpu_identity(rank.facts, number)};
}

using RanksOnGpu = std::map<std::pair<std::string, std::string>, std::vector<int>>;

std::vector<int> dealt_out(const Settings& settings, const std::vector<ProcessFacts>& ranks,
                           RanksOnGpu& ranks_on) {
  std::vector<int> gpu_of_rank;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const ProcessFacts& own = ranks[rank];
    const std::vector<int> gpus = gpus_asked_for(settings, own.facts, name_of(own));
    const int taken = *std::min_element(gpus.begin(), gpus.end(), [&](int a, int b) {
      return ranks_on[device_of(own, a)].size() < ranks_on[device_of(own, b)].size();
    });
    ranks_on[device_of(own, taken)].push_back(static_cast<int>(rank));
    gpu_of_rank.push_back(taken);
  }
  return gpu_of_rank;
}

bool is_under_mps(const GpuFacts& facts, int number) {
  return std::any_of(facts.gpus.begin(), facts.gpus.end(),
                     [&](const Gpu& gpu) { return gpu.number == number && gpu.mps; });
}

std::optional<Obstacle> nccl_refuses_to_share(const std::vector<ProcessFacts>& ranks,
                                              const std::vector<int>& gpu_of_rank,
                                              const RanksOnGpu& ranks_on) {
  const int version = ranks.front().facts.nccl_version;
  const bool can_share = version >= kNcclSharesGpus;
  // The first GPU that holds too many ranks: two are too many if NCCL lets none share, or if the processes
  // take turns there: the kernels of all ranks must run at the same time.
  std::string no_room;
  bool lacks_mps = false;
  const auto shared = std::find_if(ranks_on.begin(), ranks_on.end(), [&](const auto& one) {
    if (one.second.size() < 2 || !can_share) return one.second.size() > 1;
    const int rank = one.second.front();
    const std::vector<int> gpu{gpu_of_rank[static_cast<size_t>(rank)]};
    const GpuFacts& facts = ranks[static_cast<size_t>(rank)].facts;
    no_room = no_room_for_nccl(facts, gpu, static_cast<int>(one.second.size()));
    lacks_mps = no_room.empty() && !is_under_mps(facts, gpu.front());
    if (lacks_mps) no_room = "processes take turns on a GPU unless NVIDIA's MPS runs there, and it does not";
    return !no_room.empty();
  });
  if (shared == ranks_on.end()) return std::nullopt;
  const auto& [place, sharing] = *shared;
  const bool one_host = std::all_of(ranks.begin(), ranks.end(),
                                    [&](const ProcessFacts& rank) { return rank.host == place.first; });
  const auto gpus = std::count_if(ranks_on.begin(), ranks_on.end(), [&](const auto& one) {
    return one.first.first == place.first && !one.second.empty();
  });
  std::string remedy =
      can_share && !lacks_mps
          ? "start fewer processes on " + place.first
          : fmt::format("start at most {} on {}", counted(gpus, "process", "processes"), place.first);
  if (lacks_mps) remedy = "start MPS (nvidia-cuda-mps-control -d), or " + remedy;
  if (one_host) remedy += ", or leave out --comm mpi: as threads of one process, ranks share a GPU";
  const std::string why = can_share
                              ? no_room
                              : fmt::format("NCCL {} refuses several ranks on a GPU, {} and newer do not",
                                            nccl_version_text(version), nccl_version_text(kNcclSharesGpus));
  return Obstacle{fmt::format("ranks {} would share GPU {} of {}, and {}", fmt::join(sharing, ", "),
                              gpu_of_rank[static_cast<size_t>(sharing.front())], place.first, why),
                  remedy};
}

}  // namespace

int groups_of_a_rank(const Settings& settings) {
  const bool holders = settings.tp > 1 && settings.model.key_heads() < settings.tp;
  return (settings.tp > 1 ? 1 : 0) + (settings.dp > 1 ? 1 : 0) + (holders ? 1 : 0);
}

std::string gpu_identity(const GpuFacts& facts, int number) {
  for (const Gpu& gpu : facts.gpus)
    if (gpu.number == number && !gpu.bus.empty()) return gpu.bus;
  return std::to_string(number);
}

std::string nccl_version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

bool ranks_take_turns(const Settings& settings) {
  if (settings.communicator == CommunicatorChoice::Lockstep) return true;
  return kWorkersTakeTurns && settings.backend != BackendChoice::Cuda &&
         (settings.communicator == CommunicatorChoice::Auto ||
          settings.communicator == CommunicatorChoice::Local);
}

Choice choose(const Settings& settings, const GpuFacts& facts) {
  const bool in_turns = settings.backend == BackendChoice::Auto && ranks_take_turns(settings);
  if (settings.backend == BackendChoice::Cpu || in_turns) {
    refuse_gpu_options(settings);
    return on_cpu(settings, "");
  }
  if (!facts.gpus.empty()) return on_gpus(settings, facts);
  if (may_fall_back(settings)) return on_cpu(settings, facts.why_no_gpu);
  throw request_error(fmt::format("--backend cuda: {}; or use --backend cpu{}", facts.why_no_gpu,
                                  settings.tf32 ? " without --tf32" : ""));
}

Settings settled(Settings settings, const GpuFacts& facts) {
  const bool may_use_gpus = settings.communicator != CommunicatorChoice::Mpi && !ranks_take_turns(settings);
  if (settings.backend == BackendChoice::Auto && may_use_gpus && !facts.gpus.empty())
    settings.backend = BackendChoice::Cuda;
  return settings;
}

Choice choose_over_processes(const Settings& settings, const std::vector<ProcessFacts>& ranks) {
  if (settings.backend == BackendChoice::Cpu) {
    refuse_gpu_options(settings);
    return {false, CommunicatorChoice::Mpi, {}, ""};
  }
  const bool meet = ranks.size() > 1;
  RanksOnGpu ranks_on;
  std::vector<int> gpu_of_rank;
  std::optional<Obstacle> obstacle = some_have_no_gpu(ranks);
  if (!obstacle && meet) obstacle = nccl_is_not_one(ranks);
  if (!obstacle) {
    gpu_of_rank = dealt_out(settings, ranks, ranks_on);
    if (meet) obstacle = nccl_refuses_to_share(ranks, gpu_of_rank, ranks_on);
  }
  if (obstacle && may_fall_back(settings)) return {false, CommunicatorChoice::Mpi, {}, obstacle->why};
  if (obstacle)
    throw request_error(fmt::format("--backend cuda --comm mpi: {}; {}", obstacle->why, obstacle->remedy));
  const auto gpus = static_cast<size_t>(
      std::count_if(ranks_on.begin(), ranks_on.end(), [](const auto& one) { return !one.second.empty(); }));
  const std::string where =
      gpus < ranks.size() ? "sharing " + counted(gpus, "GPU") + " by MPS" : "a GPU each";
  size_t most = 0;
  for (const auto& [place, sharing] : ranks_on) most = std::max(most, sharing.size());
  return {true, meet ? CommunicatorChoice::Nccl : CommunicatorChoice::LocalCuda, gpu_of_rank,
          fmt::format("{}, {}, NCCL {}", counted(ranks.size(), "rank"), where,
                      nccl_version_text(ranks.front().facts.nccl_version)),
          static_cast<int>(most)};
}

}  // namespace shardlens
