// Reports how heads are spread over ranks, as text and as JSON.
#include "app/cli/heads_report.h"

#include <fmt/format.h>

#include "engine/cost/heads_balance.h"

namespace shardlens::cli {

nlohmann::ordered_json heads_json(const Plan& plan, const std::vector<double>& attention_seconds) {
  const Settings& settings = plan.program.settings;
  const HeadsBalance balance = heads_balance(plan.program, plan.cost);
  nlohmann::ordered_json json = {{"heads", settings.model.heads},
                                 {"kv_heads", settings.model.key_heads()},
                                 {"policy", to_string(settings.heads_policy)},
                                 {"fullest_rank", balance.heads.fullest},
                                 {"mean_rank", balance.heads.mean},
                                 {"wasted_share", balance.heads.wasted_share},
                                 {"attention_flops_imbalance", balance.attention_flops_imbalance},
                                 {"flops_imbalance", balance.flops_imbalance},
                                 {"weight_imbalance", balance.weight_imbalance}};
  if (!attention_seconds.empty()) {
    json["attention_seconds_per_rank"] = attention_seconds;
    json["attention_seconds_imbalance"] = imbalance(attention_seconds);
  }
  return json;
}

std::string heads_line(const Plan& plan, const std::vector<double>& attention_seconds) {
  const std::string share = heads_share_text(plan.program.settings);
  if (share.empty()) return {};
  const HeadsBalance balance = heads_balance(plan.program, plan.cost);
  std::string line =
      fmt::format("{}; fullest rank against the mean: all products {:.2f}, weights {:.2f} (counted)", share,
                  balance.flops_imbalance, balance.weight_imbalance);
  if (!attention_seconds.empty())
    line += fmt::format(", attention's time {:.2f} (measured)", imbalance(attention_seconds));
  return line;
}

}  // namespace shardlens::cli
