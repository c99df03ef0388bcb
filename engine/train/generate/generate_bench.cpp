// Measures rounds of tokens, alternating with rounds of plain reading.
#include "engine/train/generate/generate_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/rate.h"
#include "engine/device/device.h"
#include "engine/device/device_read_bench.h"
#include "engine/device/gpu_plugin.h"
#include "engine/device/read_bench.h"
#include "engine/runtime/batch.h"
#include "engine/runtime/measure/ceiling.h"
#include "engine/train/generate/generator.h"
#include "engine/train/generate/sampling.h"

namespace shardlens {
namespace {

// The number of timed tokens, followed by as many reads. One untimed token comes before them, and one untimed
// read before the reads. The reason: after a sleep, and with caches full of what was read, ranks take a tenth
// longer for a token than when they generate continuously, as in a text.
constexpr int64_t kTokensPerRound = 8;
constexpr int64_t kUntimedTokens = 1;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Every product's matrix is read completely. Of the embeddings only one row is looked up.
int64_t weight_bytes_read(const Program& program) {
  int64_t bytes = 0;
  for (const Step& step : program.steps) {
    if (step.op != Op::Linear) continue;
    for (int rank = 0; rank < program.tp(); ++rank)
      bytes += local_bytes(program.tensor(input_of(program, step, Operand::Weight)), program.tp(), rank);
  }
  return bytes;
}

// Returns a function that reads `bytes` in the memory that holds the ranks' weights and returns bytes/s. For
// GPUs, which read at the same time, it times the first GPU's part and multiplies by the number of GPUs.
std::function<double()> reading(const Settings& settings, int64_t bytes) {
  const std::vector<int> gpus = gpus_of(settings);
  if (gpus.empty())
    return
        [read = std::make_shared<ReadBench>(bytes, available_cores())] { return read->bytes_per_second(); };
  const auto count = static_cast<int64_t>(gpus.size());
  const auto read =
      std::make_shared<DeviceReadBench>(gpu_plugin().make_device(gpus.front(), settings.tf32), bytes / count);
  return [read, count] { return static_cast<double>(count) * read->bytes_per_second(); };
}

}  // namespace

GenerateBench bench_generate(const Settings& settings, int rounds) {
  const int64_t written = (kUntimedTokens + kTokensPerRound) * (rounds + 2);  // the first round warms up
  GenerateBench bench;
  bench.prompt_tokens = settings.seq - written;
  if (bench.prompt_tokens < 1) {
    throw request_error(
        fmt::format("{} rounds of {} tokens leave no prompt in a text of {} tokens. Try --seq {}.", rounds,
                    kUntimedTokens + kTokensPerRound, settings.seq, 2 * written));
  }
  Generator generator(settings);
  const Program& program = generator.plan().program;
  bench.weight_bytes = weight_bytes_read(program);
  const std::function<double()> read = reading(settings, bench.weight_bytes);
  read();

  Settings prompt = settings;
  prompt.batch = 1;
  prompt.seq = bench.prompt_tokens;
  const Clock::time_point begin = Clock::now();
  generator.feed(seeded_batch(prompt).tokens);
  bench.prompt_seconds = seconds_since(begin);

  const Sampling greedy{.temperature = 0};
  std::vector<double> seconds, ceilings, ratios;
  for (int round = 0; round <= rounds + 1; ++round) {
    const bool traced = round > rounds;  // the last round; it tells where a token's time goes
    generator.set_traced(traced);
    double token_seconds = 0, read_seconds = 0;
    Clock::time_point token_begin;
    int64_t timed = -kUntimedTokens;
    const auto take_time = [&] {
      const double seconds_of_token = seconds_since(token_begin);
      if (timed++ < 0) return;
      token_seconds += seconds_of_token;
      if (traced && (bench.op_times.empty() || seconds_of_token < bench.fastest_token_seconds)) {
        bench.fastest_token_seconds = seconds_of_token;
        bench.op_times = time_by_op(generator.executor().trace(0), program);
      }
    };
    bool is_begun = false;
    generator.write([&](const std::vector<double>& logits) -> std::optional<int32_t> {
      if (std::exchange(is_begun, true)) take_time();
      if (timed == kTokensPerRound) return std::nullopt;
      token_begin = Clock::now();
      return choose_token(logits, greedy, generator.length());
    });
    if (traced) break;
    read();
    for (int64_t i = 0; i < kTokensPerRound; ++i)
      read_seconds += per_second(static_cast<double>(bench.weight_bytes), read());
    if (round == 0) continue;
    seconds.push_back(token_seconds / kTokensPerRound);
    ceilings.push_back(per_second(kTokensPerRound * static_cast<double>(bench.weight_bytes), read_seconds));
    ratios.push_back(ratio_or_zero(read_seconds, token_seconds));
  }
  bench.median_seconds = median_of(seconds);
  bench.lowest_seconds = *std::min_element(seconds.begin(), seconds.end());
  bench.highest_seconds = *std::max_element(seconds.begin(), seconds.end());
  bench.read_bytes_per_second = median_of(ceilings);
  bench.of_read_ceiling = median_of(ratios);
  bench.lowest_of_read_ceiling = *std::min_element(ratios.begin(), ratios.end());
  bench.highest_of_read_ceiling = *std::max_element(ratios.begin(), ratios.end());
  return bench;
}

}  // namespace shardlens
