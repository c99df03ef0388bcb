// The pages of the Memory tab and the pieces they are made of.
#pragma once

#include "engine/base/units.h"
#include "ui/context.h"
#include "ui/panels/memory/memory_figures.h"

namespace shardlens::ui {

inline constexpr float kPageChoices = 288;  ///< width of the choice of pages, at the head's right

/// The whole model against one device: 16 bytes per parameter, a column per T (memory_wall.cpp).
void draw_memory_wall(const Context& context);
/// A column per T, its parts stacked, against the line of the device; a click explains a column
/// (memory_wall_chart.cpp).
void draw_wall_chart(const Context& context, const Wall& wall, ImVec2 min, ImVec2 size);
/// The colour of wall_parts()[part].
ImU32 wall_part_colour(size_t part);

/// This layer on every rank: planned beside measured (memory_layer.cpp).
void draw_memory_layer(const Context& context);
/// Bytes held while each step runs, stacked by kind; a click selects the step (memory_steps.cpp).
void draw_live_bytes(const Context& context, ImVec2 min, ImVec2 size);

/// What the machine reports about its memory and its GPUs (memory_machine.cpp).
void draw_memory_machine(const Context& context);
/// Below it: which models the machine's memory holds, and how fast it computes. Returns the height it took
/// (memory_machine_models.cpp).
float draw_machine_models(const Context& context, ImVec2 at, float width);

/// The rank whose bytes are explained: the selected one, else rank 0.
size_t explained_rank(const Context& context);

/// One binary unit for a whole chart, so that its numbers can be compared.
struct ByteUnit {
  double bytes = 1;
  std::string_view name = kBinaryByteUnits[0];
};
ByteUnit unit_for(double top_bytes);

/// The kinds from the bottom of a bar to its top: first the kinds that stay for the whole run.
inline constexpr std::array<MemoryKind, kMemoryKinds> kStackOrder{
    MemoryKind::Weight, MemoryKind::WeightGradient, MemoryKind::OptimizerState,     MemoryKind::KeyValueCache,
    MemoryKind::Input,  MemoryKind::Activation,     MemoryKind::ActivationGradient, MemoryKind::Workspace};
inline int64_t bytes_of(const BytesByKind& bytes, MemoryKind kind) {
  return bytes[static_cast<size_t>(kind)];
}

}  // namespace shardlens::ui
