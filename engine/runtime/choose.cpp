// The rule, and its refusals.
#include "engine/runtime/choose.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/config/error.h"

namespace shardlens {
namespace {

std::string count(size_t number, const std::string& noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string numbers_of(const std::vector<Gpu>& gpus) {
  std::vector<int> numbers;
  for (const Gpu& gpu : gpus) numbers.push_back(gpu.number);
  return fmt::format("{}", fmt::join(numbers, ", "));
}

// The GPUs to use, as numbers: those asked for, or all.
std::vector<int> gpus_asked_for(const Settings& settings, const GpuFacts& facts) {
  std::vector<int> numbers;
  for (const Gpu& gpu : facts.gpus) {
    if (settings.gpus.empty()) numbers.push_back(gpu.number);
  }
  for (const int number : settings.gpus) {
    const bool is_there = std::any_of(facts.gpus.begin(), facts.gpus.end(),
                                      [&](const Gpu& gpu) { return gpu.number == number; });
    if (!is_there) {
      throw request_error(fmt::format("--gpu {}: this machine has {}, number {}", number,
                                      count(facts.gpus.size(), "GPU"), numbers_of(facts.gpus)));
    }
    if (std::find(numbers.begin(), numbers.end(), number) != numbers.end())
      throw request_error(fmt::format("--gpu names GPU {} twice; ranks share GPUs by themselves", number));
    numbers.push_back(number);
  }
  return numbers;
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
      return {false, CommunicatorChoice::Mpi, {}, ""};
    case CommunicatorChoice::Auto:
    case CommunicatorChoice::Local:
      break;
  }
  return {false, CommunicatorChoice::Local, {}, why};
}

// All ranks on the first of the GPUs, which their own kernel serves.
Choice shared_by_kernel(size_t ranks, int gpu, const std::string& why) {
  std::string reason = fmt::format("{} on GPU {}", count(ranks, "rank"), gpu);
  if (!why.empty()) reason += ": " + why;
  return {true, CommunicatorChoice::LocalCuda, std::vector<int>(ranks, gpu), reason};
}

Choice on_gpus(const Settings& settings, const GpuFacts& facts) {
  const std::vector<int> gpus = gpus_asked_for(settings, facts);
  const auto ranks = static_cast<size_t>(settings.tp * settings.dp);
  const bool shared = ranks > gpus.size();
  const std::string nccl =
      facts.nccl_version == 0 ? "no NCCL" : "NCCL " + nccl_version_text(facts.nccl_version);
  const bool nccl_can = facts.nccl_version > 0 && (!shared || facts.nccl_version >= kNcclSharesGpus);
  const std::string why_not = facts.nccl_version == 0
                                  ? facts.why_no_nccl
                                  : fmt::format("{} refuses several ranks on a GPU, {} and newer do not",
                                                nccl, nccl_version_text(kNcclSharesGpus));
  switch (settings.communicator) {
    case CommunicatorChoice::Local:
      throw request_error(
          "--comm local joins threads that compute on the CPU; on GPUs use --comm auto, nccl or local_cuda");
    case CommunicatorChoice::Mpi:
      throw request_error(
          "--comm mpi carries collectives of ranks that compute on the CPU; use --backend cpu with it, or "
          "run "
          "the GPUs of one machine with --comm auto");
    case CommunicatorChoice::LocalCuda:
      return shared_by_kernel(ranks, gpus.front(), "");
    case CommunicatorChoice::Nccl:
      if (!nccl_can) {
        throw request_error(fmt::format(
            "--comm nccl: {} on {}, and {}; use --comm local_cuda, by which ranks share a GPU{}",
            count(ranks, "rank"), count(gpus.size(), "GPU"), why_not,
            facts.nccl_version > 0 ? fmt::format(", or at most {}", count(gpus.size(), "rank")) : ""));
      }
      break;
    case CommunicatorChoice::Auto:
      if (ranks == 1) return shared_by_kernel(1, gpus.front(), "");
      if (!nccl_can) return shared_by_kernel(ranks, gpus.front(), why_not);
      break;
  }
  std::vector<int> gpu_of_rank;
  for (size_t rank = 0; rank < ranks; ++rank) gpu_of_rank.push_back(gpus[rank % gpus.size()]);
  const std::string where = shared ? "sharing " + count(gpus.size(), "GPU") : "a GPU each";
  return {true, CommunicatorChoice::Nccl, gpu_of_rank,
          fmt::format("{}, {}, {}", count(ranks, "rank"), where, nccl)};
}

}  // namespace

std::string nccl_version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

Choice choose(const Settings& settings, const GpuFacts& facts) {
  if (settings.backend == BackendChoice::Cpu) {
    if (!settings.gpus.empty())
      throw request_error("--gpu chooses among GPUs, and these ranks compute on the CPU; add --backend cuda");
    return on_cpu(settings, "");
  }
  if (!facts.gpus.empty()) return on_gpus(settings, facts);
  if (settings.backend == BackendChoice::Auto && settings.gpus.empty())
    return on_cpu(settings, facts.why_no_gpu);
  throw request_error(fmt::format("--backend cuda: {}; or use --backend cpu", facts.why_no_gpu));
}

}  // namespace shardlens
