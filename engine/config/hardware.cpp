// Hardware presets and the questions to the operating system about this machine.
#include "engine/config/hardware.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <thread>

#include "engine/config/assets.h"
#include "engine/config/suggest.h"
#include "engine/io/json.h"

namespace shardlens {
namespace {

Hardware read_hardware(const nlohmann::json& json) {
  ObjectReader reader(json, "hardware.json");
  Hardware hardware;
  hardware.name = reader.string("name");
  hardware.title = reader.string("title");
  hardware.memory_bytes = reader.integer("memory_bytes");
  hardware.ranks_per_node = static_cast<int>(reader.integer("ranks_per_node"));
  hardware.fp16_flops = reader.number_or("fp16_flops", 0);
  hardware.bf16_flops = reader.number_or("bf16_flops", 0);
  hardware.fp32_flops = reader.number_or("fp32_flops", 0);
  hardware.fp64_flops = reader.number_or("fp64_flops", 0);
  hardware.memory_bytes_per_second = reader.number("memory_bytes_per_second");
  hardware.link_latency_seconds = reader.number("link_latency_seconds");
  hardware.link_bytes_per_second = reader.number("link_bytes_per_second");
  hardware.node_latency_seconds = reader.number("node_latency_seconds");
  hardware.node_bytes_per_second = reader.number("node_bytes_per_second");
  hardware.note = reader.string("note");
  reader.finish();
  return hardware;
}

// A field of /proc/meminfo in bytes.
std::optional<int64_t> meminfo_bytes(const std::string& field) {
  std::ifstream file("/proc/meminfo");
  std::string key;
  int64_t kibibytes = 0;
  std::string unit;
  while (file >> key >> kibibytes) {
    if (key == field + ":") return kibibytes * 1024;
    std::getline(file, unit);
  }
  return std::nullopt;
}

// One number in a file, as control groups state their limits; nothing where there is none ("max").
std::optional<int64_t> number_in(const char* path) {
  std::ifstream file(path);
  int64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

int64_t machine_memory_bytes() {
  int64_t bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  if (const auto limit = number_in("/sys/fs/cgroup/memory.max")) bytes = std::min(bytes, *limit);
  return bytes;
}

Hardware this_machine() {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  Hardware hardware;
  hardware.name = "this-machine";
  hardware.title = "this machine, " + std::to_string(cores) + (cores == 1 ? " core" : " cores");
  hardware.memory_bytes = machine_memory_bytes();
  hardware.ranks_per_node = cores;
  hardware.note =
      "memory and cores as the operating system states them; speeds are not known before they are measured";
  return hardware;
}

std::vector<Hardware> read_presets() {
  std::vector<Hardware> presets = {this_machine()};
  const nlohmann::json json = parse_json(std::string(asset("hardware.json")), "hardware.json");
  for (const nlohmann::json& entry : json) presets.push_back(read_hardware(entry));
  return presets;
}

}  // namespace

double Hardware::flops(DType dtype) const {
  switch (dtype) {
    case DType::Fp32:
      return fp32_flops;
    case DType::Fp64:
      return fp64_flops;
    case DType::Fp16:
      return fp16_flops;
    case DType::Bf16:
      return bf16_flops;
    case DType::Int32:
      break;
  }
  return 0;
}

const std::vector<Hardware>& hardware_presets() {
  static const std::vector<Hardware> presets = read_presets();
  return presets;
}

std::vector<std::string> hardware_names() {
  std::vector<std::string> names;
  for (const Hardware& hardware : hardware_presets()) names.push_back(hardware.name);
  return names;
}

const Hardware& find_hardware(const std::string& name) {
  for (const Hardware& hardware : hardware_presets()) {
    if (hardware.name == name) return hardware;
  }
  throw unknown_name("hardware", name, hardware_names());
}

int64_t available_memory_bytes() {
  int64_t available = meminfo_bytes("MemAvailable").value_or(machine_memory_bytes());
  const auto limit = number_in("/sys/fs/cgroup/memory.max");
  const auto used = number_in("/sys/fs/cgroup/memory.current");
  if (limit && used) available = std::min(available, std::max<int64_t>(0, *limit - *used));
  return available;
}

}  // namespace shardlens
