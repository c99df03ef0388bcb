// `bench timeline`: makes the recording, measures its timeline and prints the times.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "app/cli/bench_timeline.h"
#include "engine/base/units.h"
#include "engine/io/json_text.h"
#include "engine/io/temporary_folder.h"
#include "engine/record/recording.h"
#include "engine/runtime/measure/timeline_bench.h"
#include "engine/runtime/plan.h"

namespace shardlens::cli {

constexpr const char* kTimelineName = "bench.shardlens";

int print_timeline(const Settings& settings, const TimelineWish& wish, bool json) {
  std::optional<TemporaryFolder> scratch;
  if (wish.out.empty()) scratch.emplace(files_of_recording(kTimelineName));
  const std::string path = scratch ? scratch->path_of(kTimelineName) : wish.out;
  const std::shared_ptr<const Plan> plan = make_plan(settings);
  const TimelineBench bench =
      bench_timeline(plan, path, wish.events, int64_t{wish.file_mib} << 20, wish.views);
  if (json) {
    fmt::print("{}\n",
               json_text(nlohmann::ordered_json{{"passes", bench.passes},
                                                {"events", bench.events},
                                                {"file_bytes", bench.file_bytes},
                                                {"overview_share", bench.overview_share},
                                                {"open_seconds", bench.open_seconds},
                                                {"build_seconds", bench.build_seconds},
                                                {"views", wish.views},
                                                {"slice_seconds", bench.slice_seconds},
                                                {"slowest_slice_seconds", bench.slowest_slice_seconds},
                                                {"find_seconds", bench.find_seconds}}));
    return 0;
  }
  fmt::print("{} passes, {} events, {}; the overview is {:.2f} % of it\n\n", grouped_text(bench.passes),
             grouped_text(bench.events), bytes_text(static_cast<double>(bench.file_bytes)),
             100 * bench.overview_share);
  fmt::print("opened and drawable   {:.1f} ms\n", bench.open_seconds * 1e3);
  fmt::print("a view of it          {:.2f} ms median of {}, {:.1f} ms the slowest\n",
             bench.slice_seconds * 1e3, wish.views, bench.slowest_slice_seconds * 1e3);
  fmt::print("a search              {:.2f} ms the slowest kind\n", bench.find_seconds * 1e3);
  fmt::print("its overview built    {:.2f} s, once, if its writer was killed\n", bench.build_seconds);
  return 0;
}

}  // namespace shardlens::cli
