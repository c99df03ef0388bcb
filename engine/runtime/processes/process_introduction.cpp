// Collects, sends and compares what the processes report about themselves.
#include "engine/runtime/processes/process_introduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "engine/device/cpu/cores.h"
#include "engine/device/cpu/whole_product.h"
#include "engine/runtime/processes/process_world.h"

namespace shardlens {
namespace {

ProcessCores own_cores() {
  ProcessCores cores{};
  for (const int core : cpu::usable_cores()) {
    const auto bit = static_cast<size_t>(core);
    if (bit < 64 * cores.size()) cores[bit / 64] |= uint64_t{1} << bit % 64;
  }
  return cores;
}

// An id that is equal for all processes that the same clock times.
std::string booted_machine() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

}  // namespace

int count_of(const ProcessCores& cores) {
  int count = 0;
  for (const uint64_t word : cores) count += __builtin_popcountll(word);
  return count;
}

void put_gpus(Packet& packet, const GpuFacts& facts) {
  packet.put(static_cast<uint64_t>(facts.gpus.size()));
  for (const Gpu& gpu : facts.gpus)
    packet.put(gpu.number)
        .put(gpu.bus)
        .put(gpu.mps)
        .put(gpu.multiprocessors)
        .put(gpu.memory_bytes)
        .put(gpu.used_bytes)
        .put(gpu.context_bytes);
  packet.put(facts.why_no_gpu).put(facts.nccl_version).put(facts.why_no_nccl);
}

GpuFacts take_gpus(Packet& packet) {
  GpuFacts facts;
  facts.gpus.resize(static_cast<size_t>(packet.take<uint64_t>()));
  for (Gpu& gpu : facts.gpus) {
    gpu.number = packet.take<int>();
    gpu.bus = packet.take_text();
    gpu.mps = packet.take<bool>();
    gpu.multiprocessors = packet.take<int>();
    gpu.memory_bytes = packet.take<int64_t>();
    gpu.used_bytes = packet.take<int64_t>();
    gpu.context_bytes = packet.take<int64_t>();
  }
  facts.why_no_gpu = packet.take_text();
  facts.nccl_version = packet.take<int>();
  facts.why_no_nccl = packet.take_text();
  return facts;
}

ProcessIntroduction introduction(const Processes& processes, const JoinRequest& request) {
  return {request.version, processes.host(), booted_machine(), cpu::product_kernels(),
          own_cores(),     request.options,  request.gpus,     own_identity()};
}

Packet to_packet(const ProcessIntroduction& self) {
  Packet packet;
  packet.put(self.version).put(self.host).put(self.machine).put(self.kernels).put(self.cores);
  packet.put(static_cast<uint64_t>(self.options.size()));
  for (const std::string& option : self.options) packet.put(option);
  put_gpus(packet, self.gpus);
  packet.put(self.identity);
  return packet;
}

ProcessIntroduction take_introduction(Packet& packet) {
  ProcessIntroduction other;
  other.version = packet.take_text();
  other.host = packet.take_text();
  other.machine = packet.take_text();
  other.kernels = packet.take_text();
  other.cores = packet.take<ProcessCores>();
  for (auto left = packet.take<uint64_t>(); left > 0; --left) other.options.push_back(packet.take_text());
  other.gpus = take_gpus(packet);
  other.identity = packet.take<ProcessIdentity>();
  return other;
}

std::string difference(const ProcessIntroduction& first, int process, const ProcessIntroduction& other) {
  if (first.version != other.version) {
    return fmt::format("process 0 on {} is {}, process {} on {} is {}: put the same build on all machines",
                       first.host, first.version, process, other.host, other.version);
  }
  for (size_t i = 0; i < std::max(first.options.size(), other.options.size()); ++i) {
    const std::string ours = i < first.options.size() ? first.options[i] : "nothing";
    const std::string theirs = i < other.options.size() ? other.options[i] : "nothing";
    if (ours == theirs) continue;
    return fmt::format(
        "process 0 was started with {}, process {} with {}: all processes of a run take the same options",
        ours, process, theirs);
  }
  return {};
}

std::string unlike_processors(const std::vector<ProcessIntroduction>& all) {
  for (const ProcessIntroduction& one : all)
    if (one.kernels != all[0].kernels)
      return fmt::format("; matrix products use {} on {} and {} on {}, so ranks may differ in the last bits",
                         all[0].kernels, all[0].host, one.kernels, one.host);
  return {};
}

}  // namespace shardlens
