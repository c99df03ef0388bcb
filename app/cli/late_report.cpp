// Writes the report about late ranks as sentences and as JSON.
#include "app/cli/late_report.h"

#include <fmt/format.h>

namespace shardlens::cli {

std::vector<Lateness> last_lateness(const Program& program, const Executor& executor) {
  return lateness_of(program, executor.events(program.tp() * program.dp()));
}

nlohmann::ordered_json late_json(const Program& program, const std::vector<Lateness>& late) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Lateness& one : late)
    list.push_back({{"rank", one.rank},
                    {"step", one.step},
                    {"step_name", program.step(one.step).name},
                    {"held_seconds", one.held_seconds},
                    {"waiting_ranks", one.waiting_ranks},
                    {"waited_seconds", one.waited_seconds},
                    {"pass_longer_seconds", one.longer_seconds}});
  return list;
}

void print_late(FILE* out, const Program& program, const std::vector<Lateness>& late) {
  for (const Lateness& one : late) fmt::print(out, "{}\n", to_sentence(program, one));
}

}  // namespace shardlens::cli
