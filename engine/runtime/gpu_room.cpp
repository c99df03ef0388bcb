// Groups ranks by GPU, and finds the GPU that has too little memory.
#include "engine/runtime/gpu_room.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "engine/base/units.h"
#include "engine/comm/carried.h"
#include "engine/config/validate.h"

namespace shardlens {
namespace {

// Returns the bytes that the ranks of a room need together.
int64_t need_of(const GpuRoom& room, const std::vector<int64_t>& needs) {
  int64_t bytes = 0;
  for (const int rank : room.ranks) bytes += needs[static_cast<size_t>(rank) % needs.size()];
  return bytes;
}

std::string reserve_text(const GpuRoom& room) {
  if (room.reserve_bytes == 0) return "";
  return fmt::format(" and {} more are set aside for CUDA and NCCL (an estimate)",
                     bytes_text(static_cast<double>(room.reserve_bytes)));
}

MemoryPlace memory_place_of(const GpuRoom& room, const std::vector<int64_t>& needs) {
  int64_t most = 0;
  for (const int rank : room.ranks) most = std::max(most, needs[static_cast<size_t>(rank) % needs.size()]);
  const std::string bytes = bytes_text(static_cast<double>(most));
  if (room.ranks.size() == 1)
    return {fmt::format("{}, where rank {} is{}", room.name, room.ranks.front(), reserve_text(room)),
            "or choose an emptier GPU by --gpu, or a larger T"};
  return {fmt::format("{}, where ranks {} need {} each{}", room.name, fmt::join(room.ranks, ", "), bytes,
                      reserve_text(room)),
          "or let fewer ranks share a GPU"};
}

// Returns the request that a step's ranks make to their communicator.
std::optional<Request> request_of(const Program& program, const Step& step, int rank) {
  if (!is_collective(step.op)) return std::nullopt;
  const Tensor& from = program.tensor(step.inputs[0]);
  const Tensor& to = program.tensor(step.outputs[0]);
  switch (collective_of(step.op)) {
    case Collective::ReduceScatter:
      return sliced_request(Call::ReduceScatter, to.dtype, slicing(to.shape, to.layout.dim));
    case Collective::AllGather:
      return sliced_request(Call::AllGather, from.dtype, slicing(from.shape, from.layout.dim));
    case Collective::AllToAll:
      return exchange_request(from.dtype, from.shape, from.layout.dim, to.layout.dim);
    case Collective::AllReduce:
      if (step.axis == Axis::Dp) return std::nullopt;  // of another group
      return all_reduce_request(to.dtype, local_bytes(to, program.tp(), rank) / element_bytes(to.dtype),
                                from.layout.reduction);
    case Collective::Slice:
    case Collective::None:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::vector<GpuRoom> gpu_rooms(const Settings& settings, const Choice& choice,
                               const std::vector<ProcessFacts>& ranks) {
  const bool by_nccl = choice.communicator == CommunicatorChoice::Nccl;
  const int64_t rank_reserve =
      kGpuScratchBytes + (by_nccl ? groups_of_a_rank(settings) * kNcclGroupBytes : 0);
  const bool one_host = std::all_of(
      ranks.begin(), ranks.end(), [&](const ProcessFacts& rank) { return rank.host == ranks.front().host; });
  std::vector<GpuRoom> rooms;
  std::map<std::pair<std::string, std::string>, size_t> places;
  std::set<std::pair<size_t, int>> processes;  // room, process
  for (size_t rank = 0; rank < choice.gpu_of_rank.size(); ++rank) {
    const ProcessFacts& own = ranks[rank];
    const int number = choice.gpu_of_rank[rank];
    const auto gpu = std::find_if(own.facts.gpus.begin(), own.facts.gpus.end(),
                                  [&](const Gpu& one) { return one.number == number; });
    const bool known = gpu != own.facts.gpus.end() && gpu->memory_bytes > 0;
    const int64_t free = known ? gpu->memory_bytes - std::max<int64_t>(0, gpu->used_bytes)
                               : std::numeric_limits<int64_t>::max();
    const auto [place, is_new] =
        places.try_emplace({own.host, gpu_identity(own.facts, number)}, rooms.size());
    if (is_new) {
      const std::string name = fmt::format("GPU {}", number);
      rooms.push_back({one_host ? name : name + " of " + own.host, {}, free});
    }
    GpuRoom& room = rooms[place->second];
    room.by_nccl = by_nccl;
    room.ranks.push_back(static_cast<int>(rank));
    room.free_bytes = std::min(room.free_bytes, free);
    room.reserve_bytes += rank_reserve;
    const bool has_context = known && gpu->context_bytes >= 0;
    if (processes.insert({place->second, own.process}).second)
      room.reserve_bytes += kKernelsBytes + (has_context ? 0 : kContextBytes);
  }
  return rooms;
}

std::vector<GpuRoom> gpu_rooms(const Settings& settings, const Choice& choice, const GpuFacts& facts) {
  return gpu_rooms(settings, choice, std::vector<ProcessFacts>(choice.gpu_of_rank.size(), {0, "", facts}));
}

int64_t packed_copy_bytes(const Program& program, int rank) {
  int64_t largest = 0;
  for (const Step& step : program.steps)
    if (const std::optional<Request> request = request_of(program, step, rank))
      largest = std::max(largest, packed_bytes(*request, program.tp(), rank));
  return largest;
}

void refuse_if_gpus_too_full(const Settings& settings, const std::vector<GpuRoom>& rooms,
                             const RankNeeds& needs) {
  if (rooms.empty()) return;
  const std::vector<int64_t> now = needs(settings);
  const auto lacks = [&](const GpuRoom& room) { return need_of(room, now) - room.left_bytes(); };
  const GpuRoom& fullest = *std::max_element(
      rooms.begin(), rooms.end(), [&](const GpuRoom& a, const GpuRoom& b) { return lacks(a) < lacks(b); });
  refuse_if_too_large(
      settings, fullest.left_bytes(),
      [&](const Settings& smaller) { return need_of(fullest, needs(smaller)); },
      memory_place_of(fullest, now));
}

MemoryDemand tightest_demand(const std::vector<GpuRoom>& rooms, const std::vector<int64_t>& rank_bytes,
                             int64_t host_bytes, int64_t host_free_bytes) {
  MemoryDemand tightest{"", host_bytes, host_free_bytes};
  if (rooms.empty())
    tightest.needed_bytes = std::accumulate(rank_bytes.begin(), rank_bytes.end(), host_bytes);
  for (const GpuRoom& room : rooms) {
    const MemoryDemand demand{" on " + room.name, need_of(room, rank_bytes), room.left_bytes()};
    if (demand.lacking_bytes() > tightest.lacking_bytes()) tightest = demand;
  }
  return tightest;
}

}  // namespace shardlens
