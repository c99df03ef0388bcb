// Finds the libraries that the GPU plug-in needs, and opens the plug-in.
#include "engine/device/gpu_plugin.h"

#include <fmt/format.h>

#include <atomic>
#include <optional>

#include "engine/base/elf_file.h"
#include "engine/base/error.h"
#include "engine/base/plugin.h"
#include "engine/device/gpu_libraries.h"

namespace shardlens {
namespace {

constexpr const char* kFile = "libshardlens_cuda.so";
constexpr const char* kRemedy =
    "the GPU part is built where CUDA's toolkit (nvcc 13) is found, and needs libcublasLt.so.13 to run: "
    "install it (pip install --user nvidia-cublas), or set SHARDLENS_CUDA_LIBRARIES to the full path of its "
    "folder";

// Opens the library that the plug-in is linked to, and NCCL, which the plug-in opens itself. It finds a
// library by its bare name if that is already open.
void open_libraries() {
  for (const char* library : {"libcublasLt.so.13", "libnccl.so.2"}) {
    for (const std::string& place : library_places(library, GpuSurroundings::of_this_process())) {
      const std::string damage = place == library ? "" : damage_of_library(place);
      if (!damage.empty())
        throw request_error(fmt::format("{} cannot be used: {}, or remove it: {}", place, damage, kRemedy));
      if (open_library(place)) break;
    }
  }
}

std::atomic<const GpuPlugin*> open_plugin = nullptr;

struct Opened {
  GpuPlugin* plugin = nullptr;
  std::optional<Error> why_not;
};

const Opened& opened() {
  static const Opened once = [] {
    Opened opened;
    try {
      open_libraries();
      using Entry = GpuPlugin* (*)();
      opened.plugin = reinterpret_cast<Entry>(plugin_symbol(kFile, "shardlens_cuda_plugin", kRemedy))();
      open_plugin = opened.plugin;
    } catch (const Error& error) {
      opened.why_not = error;
    }
    return opened;
  }();
  return once;
}

}  // namespace

GpuPlugin& gpu_plugin() {
  if (opened().why_not) throw *opened().why_not;
  return *opened().plugin;
}

int hanging_gpu_calls() {
  const GpuPlugin* const plugin = open_plugin;
  return plugin == nullptr ? 0 : plugin->hanging_calls();
}

GpuFacts gpu_facts() {
  GpuFacts facts;
  if (!opened().why_not) {
    facts = opened().plugin->facts();
    leave_out_old_gpus(facts);
    return facts;
  }
  facts.why_no_gpu = opened().why_not->what();
  facts.why_no_nccl = "NCCL is for GPUs";
  return facts;
}

}  // namespace shardlens
