// Reads the hardware presets, and asks the operating system about this machine.
#include "engine/config/hardware.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <filesystem>
#include <mutex>
#include <thread>

#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/base/limits.h"
#include "engine/base/suggest.h"
#include "engine/config/assets.h"
#include "engine/config/hardware_file.h"
#include "engine/io/file_kind.h"
#include "engine/io/json.h"

namespace shardlens {
namespace {

// Returns the measured figures under the name and with the memory of `stated`, which describes this machine
// now.
Hardware as_this_machine(Hardware calibrated, const Hardware& stated) {
  calibrated.name = stated.name;
  calibrated.title = stated.title;
  calibrated.memory_bytes = stated.memory_bytes;
  calibrated.nodes = stated.nodes;
  return calibrated;
}

Hardware two_nodes_of(Hardware hardware) {
  hardware.name += "-2-nodes";
  hardware.title += ", 2 nodes";
  hardware.nodes = 2;
  return hardware;
}

std::vector<Hardware> read_hardware_presets() {
  std::vector<Hardware> presets = {this_machine(calibration_path())};
  const nlohmann::json json = parse_json(std::string(asset("hardware.json")), "hardware.json");
  for (const nlohmann::json& entry : json) presets.push_back(hardware_from_json(entry, "hardware.json"));
  const size_t devices = presets.size();
  for (size_t i = 1; i < devices; ++i) presets.push_back(two_nodes_of(presets[i]));
  return presets;
}

// Every set of presets so far, the newest last. A reference into an older set stays valid.
struct Known {
  std::mutex mutex;
  std::deque<std::vector<Hardware>> sets{read_hardware_presets()};
  std::atomic<const std::vector<Hardware>*> newest{&sets.back()};
};

Known& known() {
  static Known known;
  return known;
}

// Presets that were read from files. They are kept until the program ends.
const Hardware& hardware_of_file(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, Hardware> files;
  const std::lock_guard lock(mutex);
  const auto known = files.find(path);
  return known != files.end() ? known->second : files.emplace(path, read_hardware_file(path)).first->second;
}

}  // namespace

Hardware this_machine(const std::string& calibration) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  Hardware hardware;
  hardware.name = kThisMachine;
  hardware.title = "this machine, " + counted(cores, "core");
  hardware.basis = "not calibrated yet";
  hardware.memory_bytes = memory_in_all().bytes;
  hardware.ranks_per_node = cores;
  hardware.nodes = 1;
  hardware.sources = {{"memory_bytes", "the operating system"}, {"ranks_per_node", "the operating system"}};
  // Only a file that is not there is no calibration. One that may not be read (HOME is another user's) is
  // named.
  std::error_code unknown;
  const auto found = std::filesystem::status(calibration, unknown).type();
  if (calibration.empty() || found == std::filesystem::file_type::not_found) return hardware;
  try {
    Hardware calibrated = read_hardware_file(calibration);
    if (calibrated.ranks_per_node == cores) return as_this_machine(std::move(calibrated), hardware);
    hardware.basis = calibration + " was measured on " + counted(calibrated.ranks_per_node, "core");
  } catch (const Error& error) {
    hardware.basis = std::string("the calibration is damaged or cannot be read: ") + error.what();
  }
  hardware.basis += "; run bench calibrate to measure it again";
  return hardware;
}

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

double Hardware::measured_rate(const std::string& op, DType dtype, int ranks, double work) const {
  for (int measured = ranks; measured >= 1; --measured) {
    const auto found = rates.find({op, dtype, measured});
    if (found == rates.end()) continue;
    const std::vector<RatePoint>& points = found->second;
    const double share = static_cast<double>(measured) / ranks;
    const auto above = std::upper_bound(points.begin(), points.end(), work,
                                        [](double w, const RatePoint& point) { return w < point.work; });
    if (above == points.begin()) return share * points.front().per_second;
    if (above == points.end()) return share * points.back().per_second;
    const RatePoint& low = *(above - 1);
    const double part = std::log(work / low.work) / std::log(above->work / low.work);
    return share * (low.per_second + part * (above->per_second - low.per_second));
  }
  return 0;
}

LinkRate Hardware::measured_link(const std::string& collective, int ranks) const {
  for (int measured = ranks; measured >= 2; --measured) {
    if (const auto found = links.find({collective, measured}); found != links.end()) return found->second;
  }
  return {};
}

const std::vector<Hardware>& hardware_presets() {
  return *known().newest.load(std::memory_order_acquire);
}

void adopt_calibration(const Hardware& calibrated) {
  const std::lock_guard lock(known().mutex);
  std::vector<Hardware> presets = known().sets.back();
  presets.front() = as_this_machine(calibrated, presets.front());
  known().newest.store(&known().sets.emplace_back(std::move(presets)), std::memory_order_release);
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
  std::error_code unknown;
  if (ending_of(name) == ".json" || std::filesystem::is_regular_file(name, unknown))
    return hardware_of_file(name);
  throw unknown_name("hardware", name, hardware_names());
}

int64_t available_memory_bytes() {
  return memory_left().bytes;
}

}  // namespace shardlens
