// Computes how heads are spread over ranks.
#include "engine/config/heads.h"

#include <fmt/format.h>

namespace shardlens {

bool divides_heads(const Model& model, int tp) {
  const int64_t keys = model.key_heads();
  return tp >= 1 && (keys % tp == 0 || (tp % keys == 0 && model.heads % tp == 0));
}

bool can_pad_heads(const Model& model, int tp) {
  return divides_heads(model, tp) || tp < model.key_heads() || !model.is_grouped();
}

HeadsCut heads_cut(const Settings& settings) {
  const Model& model = settings.model;
  const int64_t keys = model.key_heads();
  HeadsCut cut;
  const bool by_keys = settings.tp <= keys || !model.is_grouped();
  cut.units = by_keys ? keys : model.heads;
  cut.heads_per_unit = model.heads / cut.units;
  cut.padded = settings.heads_policy == HeadsPolicy::Padded && cut.units % settings.tp != 0;
  if (by_keys) return cut;
  const bool copied = divides_heads(model, settings.tp);
  cut.keys = copied ? KeyCut::Copied : KeyCut::Whole;
  if (copied) cut.copies = static_cast<int>(settings.tp / keys);
  return cut;
}

HeadsShare heads_share(const Settings& settings) {
  const HeadsCut cut = heads_cut(settings);
  HeadsShare share;
  share.fullest = (cut.units + settings.tp - 1) / settings.tp * cut.heads_per_unit;
  share.mean = static_cast<double>(settings.model.heads) / settings.tp;
  share.imbalance = static_cast<double>(share.fullest) / share.mean;
  if (cut.padded) share.wasted_share = 1 - 1 / share.imbalance;
  return share;
}

std::string heads_share_text(const Settings& settings) {
  if (settings.tp < 1 || divides_heads(settings.model, settings.tp)) return {};
  const HeadsShare share = heads_share(settings);
  if (share.wasted_share > 0) {
    return fmt::format("{} heads and {} zero heads over {} ranks, {} each: {:.0f} % of attention is wasted",
                       settings.model.heads, share.fullest * settings.tp - settings.model.heads, settings.tp,
                       share.fullest, 100 * share.wasted_share);
  }
  return fmt::format(
      "{} heads over {} ranks: {} on the fullest, {:.2f} on average, so {:.2f} times the even share",
      settings.model.heads, settings.tp, share.fullest, share.mean, share.imbalance);
}

}  // namespace shardlens
