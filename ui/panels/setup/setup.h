// Shared by the parts of the Setup panel.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "ui/context.h"
#include "ui/settings/remedies.h"
#include "ui/widgets/form.h"

namespace shardlens::ui {

/// The parts of a model that can run, in the order in which they are offered.
inline constexpr std::array<Block, 4> kParts{Block::Model, Block::Layer, Block::Attention, Block::Mlp};
/// "whole model", "one layer", "MLP alone".
std::string block_title(Block block);

inline constexpr std::array<NormPlacement, 2> kNormPlaces{NormPlacement::Pre, NormPlacement::Post};
/// "before the block (pre)".
std::string norm_title(NormPlacement place);
std::string norm_help(NormPlacement place);
/// A block of a layer has no norms.
inline bool has_norms(Block block) {
  return block == Block::Layer || block == Block::Model;
}
Settings with_norm(Settings settings, NormPlacement place);

/// A choice among the values of an enum, shown by `name`.
template <typename Value, typename Values, typename Name>
void draw_choice(const Context& context, const char* label, const Settings& wanted, Value Settings::*field,
                 const Values& values, Name name) {
  std::vector<std::string> names;
  for (const Value value : values) names.push_back(name(value));
  const int chosen = option_row(context, label, name(wanted.*field), names);
  if (chosen < 0) return;
  Settings changed = wanted;
  changed.*field = values[static_cast<size_t>(chosen)];
  context.want(changed);
}

/// Returns `settings` for another part of the model. Removes what that part cannot have, and lowers T only as
/// far as needed.
Settings with_block(Settings settings, Block block);

/// Draws what only a whole model has: replicas, parts of the batch, recompute, dropout, optimizer.
void draw_whole_model(const Context& context, const Settings& wanted);

/// Draws a card for each weight matrix: the picture of its cut, its shape, and the choice of the cut. Then
/// draws the stream and, for a whole model, the embedding and the loss.
void draw_matrices(const Context& context, const Settings& wanted);
/// The cards of the matrices that the wanted part of a layer has, and nothing else.
void draw_matrices_of_block(const Context& context, const Settings& wanted);

/// Returns `settings` on another backend. Removes the settings for GPUs if the CPU is chosen, because it
/// refuses them.
Settings with_backend(Settings settings, BackendChoice backend);

/// Draws what the ranks compute on, and on which GPUs; if no GPU can be used, why.
void draw_devices(const Context& context, const Settings& wanted);

/// Draws the ranks that are late on purpose, their cost, and a form to add one more.
void draw_late_ranks(const Context& context, const Settings& wanted);

/// Draws the bytes per rank by kind against the hardware's line, planned and, after a run, measured.
void draw_memory_per_rank(const Context& context, const Settings& wanted);

}  // namespace shardlens::ui
