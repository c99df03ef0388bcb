// Writes the times by kind of step as JSON and as text.
#include "app/cli/op_times.h"

#include <fmt/format.h>

#include "engine/base/rate.h"

namespace shardlens::cli {

nlohmann::ordered_json op_times_json(const std::vector<OpTime>& times) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const OpTime& time : times) json[op_name(time.op, time.overlapped)] = time.seconds;
  return json;
}

void print_op_times(const std::vector<OpTime>& times, double whole_seconds) {
  for (const OpTime& time : times) {
    const double share = ratio_or_zero(time.seconds, whole_seconds);
    if (share >= 0.001)
      fmt::print("  {:<20} {:>9.3f} ms {:>6.1f} %\n", op_name(time.op, time.overlapped), time.seconds * 1e3,
                 share * 100);
  }
}

}  // namespace shardlens::cli
