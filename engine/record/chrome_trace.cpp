// The Trace Event Format: complete events (X), metadata (M) and flows (s at one slice, f at another), with
// times in microseconds. A viewer binds each end of a flow to the slice that encloses its time, so both ends
// are placed inside their slices.
#include "engine/record/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/io/atomic_file.h"
#include "engine/io/json_text.h"
#include "engine/program/collective_group.h"

namespace shardlens {
namespace {

using nlohmann::ordered_json;

constexpr double kNanosecond = 1e-9;  // in seconds

// Recorded times are whole nanoseconds, and are written exactly: three decimals of a microsecond.
double microseconds(double seconds) {
  return static_cast<double>(std::llround(seconds * 1e9)) / 1e3;
}

class Writer {
 public:
  explicit Writer(const std::string& path) : file_(path, kTraceFile) {
    put(fmt::format("{}\n", kTraceBeginning));
  }
  void event(const ordered_json& event) { put((count_++ > 0 ? ",\n" : "") + json_text(event)); }
  void commit(const ordered_json& about) {
    put("\n],\n\"otherData\": " + json_text(about) + "}\n");
    file_.commit();
  }

 private:
  void put(const std::string& text) { file_.write(text.data(), text.size()); }
  AtomicFile file_;
  int64_t count_ = 0;
};

const char* category(const Step& step) {
  return is_collective(step.op) ? "collective" : "compute";
}

ordered_json arguments(const Program& program, const Step& step, const StepEvent& event) {
  const Tensor& out = program.tensor(step.outputs[0]);
  ordered_json args = {{"step", step.id},
                       {"equation", step.equation},
                       {"output", out.name},
                       {"shape", to_string(out.shape)},
                       {"layout", to_string(out.layout)}};
  if (event.flops > 0) args["flops"] = event.flops;
  if (event.timed_together > 1) args["timed_together"] = event.timed_together;
  if (is_collective(step.op)) {
    args["sent_bytes"] = event.sent_bytes;
    args["wait_us"] = microseconds(event.wait_seconds());
    args["transfer_us"] = microseconds(event.transfer_seconds());
  }
  return args;
}

void name_ranks(Writer& writer, const Recording& recording) {
  const Program& program = recording.header().program;
  for (int rank = 0; rank < recording.world_size(); ++rank) {
    const std::string name =
        program.dp() > 1 ? fmt::format("rank {} of replica {}", rank % program.tp(), rank / program.tp())
                         : fmt::format("rank {}", rank);
    writer.event({{"ph", "M"}, {"pid", rank}, {"name", "process_name"}, {"args", {{"name", name}}}});
    writer.event(
        {{"ph", "M"}, {"pid", rank}, {"name", "process_sort_index"}, {"args", {{"sort_index", rank}}}});
    for (const auto& [thread, what] : {std::pair{0, "steps"}, {1, "overlapped"}})
      writer.event(
          {{"ph", "M"}, {"pid", rank}, {"tid", thread}, {"name", "thread_name"}, {"args", {{"name", what}}}});
  }
}

// Writes flows from the rank that arrived last, which all others waited for, to each of them.
void write_flows(Writer& writer, const Program& program, const RecordedPass& pass, const Step& step,
                 int64_t& flows) {
  const auto at = static_cast<size_t>(step.id);
  for (int rank = 0; rank < static_cast<int>(pass.events.size()); ++rank) {
    const std::vector<int> ranks = ranks_of_group(program, step, rank);
    if (ranks.front() != rank) continue;  // once for each group
    int last = rank;
    bool complete = true;
    for (const int r : ranks) {
      const auto& events = pass.events[static_cast<size_t>(r)];
      complete = complete && at < events.size();
      if (complete && events[at].arrival_seconds > pass.events[static_cast<size_t>(last)][at].arrival_seconds)
        last = r;
    }
    if (!complete) continue;
    for (const int r : ranks) {
      if (r == last) continue;
      const StepEvent& from = pass.events[static_cast<size_t>(last)][at];
      const StepEvent& to = pass.events[static_cast<size_t>(r)][at];
      const auto end = [&](const char* phase, int of, const StepEvent& event, double seconds) {
        const double last_inside = std::max(event.begin_seconds, event.end_seconds - kNanosecond);
        const double inside = std::clamp(seconds, event.begin_seconds, last_inside);
        ordered_json flow = {{"ph", phase},
                             {"id", flows},
                             {"pid", of},
                             {"tid", step.overlapped ? 1 : 0},
                             {"ts", microseconds(pass.begin_seconds + inside)},
                             {"cat", "collective"},
                             {"name", step.name}};
        if (phase[0] == 'f') flow["bp"] = "e";
        writer.event(flow);
      };
      end("s", last, from, from.arrival_seconds);
      end("f", r, to, std::max(to.all_arrived_seconds, from.arrival_seconds));
      ++flows;
    }
  }
}

}  // namespace

void write_chrome_trace(const Recording& recording, int64_t first, int64_t last, const std::string& path) {
  const Program& program = recording.header().program;
  Writer writer(path);
  name_ranks(writer, recording);
  int64_t flows = 1;
  for (int64_t index = first; index < last; ++index) {
    const RecordedPass pass = recording.pass(index);
    for (size_t rank = 0; rank < pass.events.size(); ++rank) {
      for (size_t i = 0; i < pass.events[rank].size(); ++i) {
        const Step& step = program.steps[i];
        const StepEvent& event = pass.events[rank][i];
        writer.event({{"ph", "X"},
                      {"pid", rank},
                      {"tid", step.overlapped ? 1 : 0},
                      {"ts", microseconds(pass.begin_seconds + event.begin_seconds)},
                      {"dur", microseconds(event.seconds())},
                      {"cat", category(step)},
                      {"name", step.name},
                      {"args", arguments(program, step, event)}});
      }
    }
    for (const Step& step : program.steps)
      if (is_collective(step.op)) write_flows(writer, program, pass, step, flows);
  }
  const RecordingHeader& header = recording.header();
  writer.commit({{"verb", header.verb},
                 {"machine", header.machine},
                 {"communicator", header.communicator},
                 {"model", program.settings.model.name},
                 {"split", program.settings.split.name},
                 {"dtype", to_string(program.settings.dtype)}});
}

}  // namespace shardlens
