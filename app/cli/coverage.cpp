// Writes a Coverage as lines and as JSON.
#include "app/cli/coverage.h"

#include "app/cli/or_null.h"
#include "app/cli/table.h"

namespace shardlens::cli {

using nlohmann::ordered_json;

void add_coverage(ordered_json& json, const Coverage& coverage, const Program* program) {
  json["compared_tensors"] = coverage.compared;
  json["program_tensors"] = coverage.tensors();
  ordered_json left_out = ordered_json::array();
  for (const LeftOutGroup& group : coverage.left_out) {
    ordered_json one = {{"reason", to_string(group.reason)}, {"count", group.tensors.size()}};
    if (program != nullptr)
      for (const TensorId id : group.tensors) one["tensors"].push_back(program->tensor(id).name);
    left_out.push_back(std::move(one));
  }
  json["left_out"] = std::move(left_out);
}

void print_left_out(const Program& program, const Coverage& coverage) {
  for (const std::string& line : left_out_lines(program, coverage)) print_hanging("  ", line);
}

ordered_json place_json(int replica, int rank) {
  return {{"replica", or_null(replica, replica >= 0)}, {"rank", or_null(rank, rank >= 0)}};
}

}  // namespace shardlens::cli
