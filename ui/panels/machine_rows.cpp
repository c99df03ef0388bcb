// Turns facts about the machine into rows: see machine_rows.h.
#include "ui/panels/machine_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/config/error.h"
#include "engine/config/units.h"
#include "engine/runtime/choose.h"

namespace shardlens::ui {
namespace {

constexpr size_t kPairsNamed = 6;  // if there are more, only their kinds are listed

std::string memory_text(int64_t bytes) {
  return bytes_text(static_cast<double>(bytes));
}

/// The GPU of each rank; empty: they compute on the CPU, or cannot compute at all.
std::vector<int> places_of(const Settings& settings, const GpuFacts& facts) {
  if (settings.backend == BackendChoice::Cpu) return {};
  try {
    return choose(settings, facts).gpu_of_rank;
  } catch (const Error&) {
    return {};
  }
}

void add_plan(MachineRows& rows, const Plan& plan, const GpuFacts& facts) {
  const Settings& settings = plan.program.settings;
  const std::vector<int> places = places_of(settings, facts);
  if (places.empty() && settings.backend == BackendChoice::Cuda) return;
  const int ranks = plan.program.ranks(), world = ranks * plan.program.replicas();
  for (int rank = 0; rank < world; ++rank) {
    MemoryRow* row = &rows.memories.back();
    if (!places.empty())
      for (size_t i = 0; i < facts.gpus.size(); ++i)
        if (facts.gpus[i].number == places[static_cast<size_t>(rank)]) row = &rows.memories[i];
    row->planned_bytes += total_bytes(plan.memory[static_cast<size_t>(rank % ranks)].arena_bytes);
    row->ranks.push_back(rank);
  }
}

/// The pairs, grouped by how they are joined, in the order in which each kind first appears.
std::vector<std::string> link_lines(const std::vector<GpuLink>& links) {
  std::vector<std::string> lines;
  if (links.size() <= kPairsNamed) {
    for (const GpuLink& link : links)
      lines.push_back(fmt::format("GPU {} – GPU {}: {}", link.from, link.to, link.kind));
    return lines;
  }
  std::vector<std::pair<std::string, size_t>> kinds;
  for (const GpuLink& link : links) {
    const auto known =
        std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) { return kind.first == link.kind; });
    if (known == kinds.end()) {
      kinds.emplace_back(link.kind, 1);
    } else {
      ++known->second;
    }
  }
  if (kinds.size() == 1) return {fmt::format("All {} pairs: {}", links.size(), kinds.front().first)};
  const auto often = std::max_element(kinds.begin(), kinds.end(),
                                      [](const auto& a, const auto& b) { return a.second < b.second; });
  lines.push_back(fmt::format("{} of {} pairs: {}", often->second, links.size(), often->first));
  for (const auto& kind : kinds) {
    if (kind.first == often->first) continue;
    std::string pairs;
    for (const GpuLink& link : links)
      if (link.kind == kind.first)
        pairs += fmt::format("{}{}–{}", pairs.empty() ? "" : ", ", link.from, link.to);
    lines.push_back(fmt::format("{}: {}", kind.first, pairs));
  }
  return lines;
}

}  // namespace

std::string ranks_text(const std::vector<int>& ranks) {
  if (ranks.empty()) return "no rank";
  if (ranks.size() == 1) return fmt::format("rank {}", ranks.front());
  const bool in_a_row = ranks.back() - ranks.front() + 1 == static_cast<int>(ranks.size());
  if (in_a_row && ranks.size() > 2) return fmt::format("ranks {} to {}", ranks.front(), ranks.back());
  std::string text = "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ", ranks[i]);
  return text;
}

std::string gpus_words(const GpuFacts& facts) {
  if (facts.gpus.empty()) return {};
  const Gpu& first = facts.gpus.front();
  const std::string what = fmt::format("{}, {}", first.name, memory_text(first.memory_bytes));
  if (facts.gpus.size() == 1) return fmt::format("GPU {}: {}", first.number, what);
  const bool alike = std::all_of(facts.gpus.begin(), facts.gpus.end(), [&](const Gpu& gpu) {
    return gpu.name == first.name && gpu.memory_bytes == first.memory_bytes;
  });
  if (!alike) return fmt::format("{} GPUs, the first {}", facts.gpus.size(), what);
  const bool one_kind =
      !facts.links.empty() && std::all_of(facts.links.begin(), facts.links.end(), [&](const GpuLink& link) {
        return link.kind == facts.links.front().kind;
      });
  return fmt::format("{} GPUs: {} each{}", facts.gpus.size(), what,
                     one_kind ? ", joined by " + facts.links.front().kind : "");
}

MachineRows machine_rows(const MachineFacts& facts, const Plan* plan) {
  MachineRows rows;
  for (const Gpu& gpu : facts.gpus.gpus) {
    MemoryRow row;
    row.name = fmt::format("GPU {}: {}", gpu.number, gpu.name);
    row.total_bytes = gpu.memory_bytes;
    row.used_bytes = gpu.used_bytes;
    row.teller = "the driver";
    rows.memories.push_back(std::move(row));
  }
  MemoryRow own;
  own.name = "Main memory";
  own.total_bytes = facts.memory_bytes;
  if (facts.known) {
    own.used_bytes = std::max<int64_t>(0, facts.memory_bytes - facts.free_bytes);
    own.process_bytes = facts.process_bytes;
  }
  own.teller = "the operating system";
  rows.memories.push_back(std::move(own));
  if (plan != nullptr) add_plan(rows, *plan, facts.gpus);
  rows.links = link_lines(facts.gpus.links);
  if (facts.known && facts.gpus.gpus.empty())
    rows.no_gpu = fmt::format("No GPU can be used here: {}.", facts.gpus.why_no_gpu);
  return rows;
}

}  // namespace shardlens::ui
