// `info`: prints what a recording holds, or which cores and GPUs this machine can compute on.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/cli/late_report.h"
#include "app/cli/verbs.h"
#include "engine/base/counted.h"
#include "engine/base/units.h"
#include "engine/device/gpu_plugin.h"
#include "engine/io/json_text.h"
#include "engine/record/gallery.h"
#include "engine/record/live_link.h"
#include "engine/record/recording.h"
#include "engine/runtime/choose.h"

namespace shardlens::cli {
namespace {

using nlohmann::ordered_json;

std::string date_text(double unix_seconds) {
  const auto time = static_cast<std::time_t>(unix_seconds);
  std::tm utc{};
  gmtime_r(&time, &utc);
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", utc);
}

// The time of a rank in collectives: waiting for other ranks, and moving bytes. For an overlapped collective
// only the time that the rank's steps wait for it counts.
struct Share {
  double seconds = 0, waiting = 0, moving = 0;
};

Share share_of(const Program& program, const std::vector<StepEvent>& events) {
  Share share;
  const std::vector<double> waited = seconds_waited_overlapped(program, events);
  for (size_t i = 0; i < events.size(); ++i) {
    share.seconds = std::max(share.seconds, events[i].end_seconds);
    share.waiting += waited[i];
    if (!is_collective(program.steps[i].op) || program.steps[i].overlapped) continue;
    share.waiting += events[i].wait_seconds();
    share.moving += events[i].transfer_seconds();
  }
  return share;
}

int print_info(const std::string& path, bool as_json) {
  const Recording recording(recording_path(path));
  const RecordingHeader& header = recording.header();
  const Settings& settings = header.program.settings;
  const RecordingTotals totals = recording.totals();
  if (as_json) {
    ordered_json json = {{"verb", header.verb},
                         {"machine", header.machine},
                         {"communicator", header.communicator},
                         {"clock_step_us", header.clock_step_seconds * 1e6},
                         {"started_unix_seconds", recording.started_unix_seconds()},
                         {"finished", recording.finished()},
                         {"failure", recording.failure()},
                         {"being_written", recording.writer() != WriterState::Gone},
                         {"model", settings.model.name},
                         {"ranks", settings.tp},
                         {"replicas", settings.dp},
                         {"split", settings.split.name},
                         {"dtype", to_string(settings.dtype)},
                         {"batch", settings.batch},
                         {"seq", settings.seq},
                         {"steps", header.program.steps.size()},
                         {"passes", totals.passes},
                         {"events", totals.events},
                         {"pictures", header.pictures},
                         {"samples", totals.samples},
                         {"stored_pictures", totals.pictures},
                         {"dropped_passes", totals.dropped_passes},
                         {"dropped_pictures", totals.dropped_pictures},
                         {"problem", totals.problem}};
    ordered_json bytes = ordered_json::array();
    for (const BytesByKind& rank : recording.high_water_bytes()) bytes.push_back(total_bytes(rank));
    json["high_water_bytes_per_rank"] = bytes;
    fmt::print("{}\n", json_text(json));
    return 0;
  }
  fmt::print("{}: `{}` of {}, recorded on {}, {}\n", path, header.verb, settings.model.title, header.machine,
             date_text(recording.started_unix_seconds()));
  if (header.clock_step_seconds > 0)
    fmt::print("the clock went on in steps of {:.0f} µs: a shorter time was not measured\n",
               header.clock_step_seconds * 1e6);
  fmt::print("T = {} · D = {} · split {} · {} · batch {} × sequence {} · {}: {}\n", settings.tp, settings.dp,
             settings.split.name, to_string(settings.dtype), settings.batch, settings.seq,
             header.communicator, header.communicator_reason);
  fmt::print("{} of {} steps, {} events{}\n", counted(totals.passes, "pass", "passes"),
             header.program.steps.size(), grouped_text(totals.events),
             recording.writer() != WriterState::Gone ? "; the run still writes it"
             : recording.finished()                  ? ""
                                                     : "; the run was killed");
  if (const std::string failure = recording.failure(); !failure.empty())
    fmt::print("the run failed: {}\n", failure);
  fmt::print("pictures: {}; {} samples of tensors, {} different pictures\n", header.pictures,
             grouped_text(totals.samples), grouped_text(totals.pictures));
  if (totals.dropped_passes > 0)
    fmt::print("{} not in it: {}\n", counted(totals.dropped_passes, "pass", "passes"), totals.problem);
  if (totals.dropped_pictures > 0)
    fmt::print("{} not in it: {}\n", counted(totals.dropped_pictures, "picture"), kWhyPicturesAreDropped);
  if (totals.passes == 0) return 0;
  const std::vector<int64_t> untraced = recording.untraced_passes();
  int64_t shown = totals.passes - 1;
  while (shown > 0 && std::ranges::binary_search(untraced, shown)) --shown;
  if (!untraced.empty())
    fmt::print("the steps of {} were not timed\n",
               counted(static_cast<int64_t>(untraced.size()), "pass", "passes"));
  const RecordedPass last = recording.pass(shown);
  fmt::print("\n{}\n", shown == totals.passes - 1 ? "last pass" : "last pass whose steps were timed");
  const std::vector<BytesByKind> memory = recording.high_water_bytes();
  for (size_t rank = 0; rank < last.events.size(); ++rank) {
    const Share share = share_of(header.program, last.events[rank]);
    fmt::print(
        "  rank {:<3} {:>10.2f} ms, with {:.2f} ms waiting and {:.2f} ms moving bytes · high-water {}\n",
        rank, share.seconds * 1e3, share.waiting * 1e3, share.moving * 1e3,
        bytes_text(static_cast<double>(total_bytes(memory[rank]))));
  }
  print_late(stdout, header.program, lateness_of(header.program, last.events));
  for (const auto& [name, value] : last.metrics) fmt::print("  {:<20} {:.6g}\n", name, value);
  return 0;
}

std::string or_none(const std::string& version) {
  return version.empty() ? "none" : version;
}

int print_backends(bool as_json) {
  const GpuFacts facts = gpu_facts();
  const std::string nccl = facts.nccl_version == 0 ? "" : nccl_version_text(facts.nccl_version);
  if (as_json) {
    ordered_json gpus = ordered_json::array(), links = ordered_json::array();
    for (const Gpu& gpu : facts.gpus) {
      gpus.push_back({{"number", gpu.number},
                      {"name", gpu.name},
                      {"compute_capability", fmt::format("{}.{}", gpu.major, gpu.minor)},
                      {"memory_bytes", gpu.memory_bytes},
                      {"used_bytes", gpu.used_bytes < 0 ? ordered_json() : ordered_json(gpu.used_bytes)},
                      {"bus", gpu.bus}});
    }
    for (const GpuLink& link : facts.links)
      links.push_back({{"from", link.from}, {"to", link.to}, {"kind", link.kind}});
    const ordered_json json = {{"cpu", {{"cores", available_cores()}}},
                               {"cuda",
                                {{"usable", !facts.gpus.empty()},
                                 {"why_not", facts.why_no_gpu},
                                 {"gpus", gpus},
                                 {"links", links},
                                 {"driver", facts.driver},
                                 {"runtime", facts.runtime},
                                 {"cublaslt", facts.cublaslt},
                                 {"nccl", nccl},
                                 {"why_no_nccl", facts.why_no_nccl}}}};
    fmt::print("{}\n", json_text(json));
    return 0;
  }
  fmt::print("cpu   {}\n", counted(available_cores(), "core"));
  if (facts.gpus.empty()) fmt::print("cuda  not usable: {}\n", facts.why_no_gpu);
  for (const Gpu& gpu : facts.gpus)
    fmt::print("cuda  GPU {}: {}, {}{}, compute capability {}.{}, at {}\n", gpu.number, gpu.name,
               bytes_text(static_cast<double>(gpu.memory_bytes)),
               gpu.used_bytes < 0
                   ? ""
                   : fmt::format(" ({} in use)", bytes_text(static_cast<double>(gpu.used_bytes))),
               gpu.major, gpu.minor, gpu.bus);
  for (const GpuLink& link : facts.links)
    fmt::print("      GPU {} - GPU {}: {}\n", link.from, link.to, link.kind);
  if (!facts.runtime.empty())
    fmt::print("      driver {}, CUDA {}, cuBLASLt {}, NCCL {}\n", or_none(facts.driver), facts.runtime,
               or_none(facts.cublaslt), or_none(nccl));
  if (!facts.gpus.empty() && facts.nccl_version == 0) fmt::print("      {}\n", facts.why_no_nccl);
  return 0;
}

}  // namespace

Verb add_info(CLI::App& app) {
  auto path = std::make_shared<std::string>();
  auto as_json = std::make_shared<bool>(false);
  auto backends = std::make_shared<bool>(false);
  CLI::Option* const recording = app.add_option("recording", *path, "FILE.shardlens, or gallery:NAME");
  app.add_flag("--backends", *backends, "What this machine can compute on: cores, GPUs, their libraries")
      ->excludes(recording);
  app.add_flag("--json", *as_json, "One JSON object on stdout, nothing else");
  app.footer(
      "\nExamples\n  shardlens-cli step --model gpt2 --layer --tp 4 --record layer.shardlens\n"
      "  shardlens-cli info layer.shardlens\n"
      "  shardlens-cli info --backends\n");
  return [path, as_json, backends] {
    if (*backends) return print_backends(*as_json);
    if (path->empty()) throw request_error("info needs a recording: give FILE.shardlens, or --backends");
    return print_info(*path, *as_json);
  };
}

}  // namespace shardlens::cli
