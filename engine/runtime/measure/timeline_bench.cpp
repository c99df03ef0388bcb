// Makes the recording, and measures.
#include "engine/runtime/measure/timeline_bench.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <random>
#include <thread>

#include "engine/config/clock.h"
#include "engine/config/error.h"
#include "engine/io/sqlite.h"
#include "engine/record/history.h"
#include "engine/runtime/measure/step_bench.h"
#include "engine/runtime/plan.h"

namespace shardlens {
namespace {

constexpr int kColumns = 1848;            // of a timeline at 1920 pixels
constexpr double kUnknownSeconds = 2e-5;  // for a step without a known price

template <typename Action>
double seconds_of(Action action) {
  const double begin = now_seconds();
  action();
  return now_seconds() - begin;
}

/// Removes the file from the system's page cache, so that it is read from the disk again.
void forget(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY);
  if (file < 0) return;
  fdatasync(file);
  posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  close(file);
}

RecordedPass draw_pass(const Plan& plan, double begin_seconds, std::mt19937& draw) {
  const Program& program = plan.program;
  const int ranks = program.ranks() * program.replicas();
  std::uniform_real_distribution<> noise(1, 2);
  RecordedPass pass;
  pass.begin_seconds = begin_seconds;
  pass.events.resize(static_cast<size_t>(ranks));
  std::vector<double> clock(static_cast<size_t>(ranks), 0.0);
  for (const Step& step : program.steps) {
    std::vector<double> arrived = clock;
    if (draw() % 64 == 0) arrived[draw() % arrived.size()] += 50 * kUnknownSeconds;
    const double met = *std::max_element(arrived.begin(), arrived.end());
    for (size_t rank = 0; rank < clock.size(); ++rank) {
      const StepCost& cost =
          plan.cost[rank % static_cast<size_t>(program.ranks())][static_cast<size_t>(step.id)];
      const double took =
          (cost.predicted_seconds > 0 ? cost.predicted_seconds : kUnknownSeconds) * noise(draw);
      StepEvent event;
      event.begin_seconds = clock[rank];
      event.flops = cost.flops;
      event.sent_bytes = cost.sent_bytes;
      if (is_collective(step.op)) {
        event.arrival_seconds = arrived[rank];
        event.all_arrived_seconds = met;
        event.end_seconds = met + took;
      } else {
        event.end_seconds = clock[rank] + took;
      }
      clock[rank] = event.end_seconds;
      pass.events[rank].push_back(event);
    }
  }
  return pass;
}

/// The samples of up to 16 tensors whose pictures have the largest size.
std::vector<std::pair<TensorId, TensorSample>> largest_samples(const Program& program) {
  std::vector<std::pair<TensorId, TensorSample>> samples;
  std::vector<std::byte> zeros;
  for (const Tensor& tensor : program.tensors) {
    if (tensor.kind == MemoryKind::Workspace || samples.size() == 16) continue;
    zeros.resize(std::max(zeros.size(), static_cast<size_t>(tensor.bytes())));
    TensorSample sample = make_sample(tensor, program.ranks(), 0, zeros.data(), {kPictureExtent, 0});
    if (sample.picture.values.size() == kPictureExtent * kPictureExtent)
      samples.emplace_back(tensor.id, std::move(sample));
  }
  return samples;
}

/// Makes pictures of about `bytes` together, no two alike.
SampleTable draw_samples(const Program& program,
                         const std::vector<std::pair<TensorId, TensorSample>>& templates, int64_t bytes,
                         std::mt19937& draw) {
  SampleTable table(static_cast<size_t>(program.ranks()),
                    std::vector<std::shared_ptr<const TensorSample>>(program.tensors.size()));
  constexpr int64_t kPictureBytes = kPictureExtent * kPictureExtent * static_cast<int64_t>(sizeof(float));
  for (const auto& [id, known] : templates) {
    if (bytes < kPictureBytes) break;
    auto sample = std::make_shared<TensorSample>(known);
    for (float& value : sample->picture.values) value = static_cast<float>(draw() % 10'000) * 1e-4f;
    sample->stats.max = 1;
    sample->hash = draw();
    table[0][static_cast<size_t>(id)] = sample;
    bytes -= kPictureBytes;
  }
  return table;
}

}  // namespace

void draw_recording(const std::shared_ptr<const Plan>& plan, const std::string& path, int64_t events,
                    int64_t file_bytes) {
  const Program& program = plan->program;
  RecordingHeader header;
  header.verb = "bench";
  header.machine = machine_description();
  header.communicator = "none";
  header.communicator_reason = "drawn by lot";
  header.program = program;
  header.memory = plan->memory;
  RecordingLimits limits;
  limits.file_bytes = std::max(limits.file_bytes, 4 * file_bytes);
  limits.waiting_bytes = int64_t{256} << 20;
  RecordingWriter writer(path, header, limits);
  std::mt19937 draw(1);
  const auto templates =
      file_bytes > 0 ? largest_samples(program) : std::vector<std::pair<TensorId, TensorSample>>{};
  double begin = 0;
  const int64_t of_pass =
      int64_t{program.ranks()} * program.replicas() * static_cast<int64_t>(program.steps.size());
  const int64_t passes = (events + of_pass - 1) / of_pass;
  for (int64_t number = 0; number < passes; ++number) {
    RecordedPass pass = draw_pass(*plan, begin, draw);
    double seconds = 0;
    for (const auto& track : pass.events) seconds = std::max(seconds, track.back().end_seconds);
    begin += seconds * 1.05;
    pass.metrics = {
        {"loss", 3 + 8 * std::exp(-4 * static_cast<double>(number) / static_cast<double>(passes))}};
    if (!templates.empty()) pass.samples = draw_samples(program, templates, file_bytes / passes, draw);
    writer.offer(std::move(pass));
    while (number % 16 == 15 && !writer.is_settled())  // pictures would be dropped if many waited
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const RecordingTotals totals = writer.finish();
  if (totals.dropped_passes > 0) throw run_error(path + ": " + totals.problem);
}

TimelineBench bench_timeline(const std::shared_ptr<const Plan>& plan, const std::string& path, int64_t events,
                             int64_t file_bytes, int views) {
  draw_recording(plan, path, events, file_bytes);
  TimelineBench bench;
  bench.file_bytes = static_cast<int64_t>(std::filesystem::file_size(path));
  const auto program = std::make_shared<const Program>(plan->program);
  forget(path);
  std::unique_ptr<History> history;
  bench.open_seconds = seconds_of([&] {
    const Recording recording(path);
    history = std::make_unique<History>(path, program);
    history->slice(0, history->end_ns(), history->end_ns() / kColumns);
  });
  std::mt19937 draw(2);
  std::vector<double> slices;
  for (int view = 0; view < views; ++view) {
    const double zoom = std::pow(2.0, -std::uniform_real_distribution<>(0, 20)(draw));
    const auto width = std::max<int64_t>(1000, std::llround(static_cast<double>(history->end_ns()) * zoom));
    const auto begin = static_cast<int64_t>(
        std::uniform_real_distribution<>(0, static_cast<double>(history->end_ns() - width))(draw));
    slices.push_back(seconds_of([&] { history->slice(begin, begin + 2 * width, width / kColumns); }));
  }
  bench.slice_seconds = median_of(slices);
  bench.slowest_slice_seconds = *std::max_element(slices.begin(), slices.end());
  for (const HistoryFind find :
       {HistoryFind::Step, HistoryFind::Collective, HistoryFind::SlowPass, HistoryFind::LongWait}) {
    HistoryQuestion question;
    question.find = find;
    question.text = plan->program.steps.back().name;
    question.pass = history->passes() / 2;
    bench.find_seconds = std::max(bench.find_seconds, seconds_of([&] { history->find(question); }));
  }
  history.reset();
  {
    Database database(path, Database::Access::ReadWrite);
    bench.passes = database.integer("SELECT count(*) FROM passes");
    bench.events = database.integer("SELECT count(*) FROM events");
    bench.overview_share =
        static_cast<double>(database.integer("SELECT sum(length(buckets)) FROM overview")) /
        static_cast<double>(bench.file_bytes);
    database.run("DELETE FROM meta WHERE key = 'overview_finest'");
  }
  history = std::make_unique<History>(path, program);
  bench.build_seconds = seconds_of([&] {
    while (!history->ready()) history->build_for(1);
  });
  return bench;
}

}  // namespace shardlens
