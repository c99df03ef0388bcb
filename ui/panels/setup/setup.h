// What the parts of the Setup panel share.
#pragma once

#include <string>
#include <vector>

#include "ui/context.h"
#include "ui/settings/remedies.h"
#include "ui/widgets/form.h"

namespace shardlens::ui {

/// "whole model", "one layer", "MLP alone".
std::string block_title(Block block);

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

/// `settings` with another part of the model to run: what that part cannot have is left out, and T moves as
/// little as it must.
Settings with_block(Settings settings, Block block);

/// What only a whole model has: replicas, parts of the batch, recompute, dropout, optimizer.
void draw_whole_model(const Context& context, const Settings& wanted);

/// A card per weight matrix: the picture of its cut, its shape, and the choice of the cut; then the stream
/// and, of a whole model, the embedding and the loss.
void draw_matrices(const Context& context, const Settings& wanted);

/// `settings` on another backend: what is about GPUs alone goes when the CPU is chosen, which refuses it.
Settings with_backend(Settings settings, BackendChoice backend);

/// What the ranks compute on, and on which GPUs; where there are none, why.
void draw_devices(const Context& context, const Settings& wanted);

/// Ranks made late on purpose, what they cost, and one more.
void draw_late_ranks(const Context& context, const Settings& wanted);

/// Bytes per rank by kind against the hardware's line, planned and, after a run, measured.
void draw_memory_per_rank(const Context& context, const Settings& wanted);

}  // namespace shardlens::ui
