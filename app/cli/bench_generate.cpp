// `bench generate`: the time of one generated token, compared with the speed at which this machine reads the
// weights.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/cli/bench.h"
#include "app/cli/op_times.h"
#include "engine/base/counted.h"
#include "engine/base/units.h"
#include "engine/io/json_text.h"
#include "engine/runtime/plan.h"
#include "engine/train/generate/generate_bench.h"

namespace shardlens::cli {

using nlohmann::ordered_json;

int bench_generate(const CommonOptions& options, int repetitions) {
  const Settings s = to_settings(options);
  const GenerateBench bench = shardlens::bench_generate(s, repetitions);
  if (options.json) {
    fmt::print("{}\n", json_text(ordered_json{{"token_seconds", bench.median_seconds},
                                              {"lowest_seconds", bench.lowest_seconds},
                                              {"highest_seconds", bench.highest_seconds},
                                              {"tokens_per_second", bench.tokens_per_second()},
                                              {"repetitions", repetitions},
                                              {"prompt_tokens", bench.prompt_tokens},
                                              {"prompt_seconds", bench.prompt_seconds},
                                              {"weight_bytes", bench.weight_bytes},
                                              {"read_ceiling_bytes_per_second", bench.read_bytes_per_second},
                                              {"of_read_ceiling", bench.of_read_ceiling},
                                              {"lowest_of_read_ceiling", bench.lowest_of_read_ceiling},
                                              {"highest_of_read_ceiling", bench.highest_of_read_ceiling},
                                              {"op_seconds", op_times_json(bench.op_times)}}));
    return 0;
  }
  fmt::print("{} · generation · T = {} · split {} · {} · {}\n\n", s.model.title, s.tp, s.split.name,
             to_string(s.dtype), machine_description(s));
  fmt::print("a token               {:.2f} ms median ({:.2f} … {:.2f} ms, {})\n", bench.median_seconds * 1e3,
             bench.lowest_seconds * 1e3, bench.highest_seconds * 1e3, counted(repetitions, "round"));
  fmt::print("speed                 {:.1f} tokens/s, after a prompt of {} tokens that took {:.0f} ms\n",
             bench.tokens_per_second(), bench.prompt_tokens, bench.prompt_seconds * 1e3);
  fmt::print("weights read          {} bytes per token, all ranks together\n",
             grouped_text(bench.weight_bytes));
  fmt::print(
      "read ceiling          {:.1f} GB/s, measured in turn with the tokens, by all cores or by the GPUs\n",
      bench.read_bytes_per_second / 1e9);
  fmt::print("of the ceiling        {:.1f} % ({:.1f} … {:.1f})\n", 100 * bench.of_read_ceiling,
             100 * bench.lowest_of_read_ceiling, 100 * bench.highest_of_read_ceiling);
  fmt::print("\nrank 0 in the fastest token ({:.2f} ms)\n", bench.fastest_token_seconds * 1e3);
  print_op_times(bench.op_times, bench.fastest_token_seconds);
  return 0;
}

}  // namespace shardlens::cli
