// The state of the page of the texts' figures.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/base/background_call.h"
#include "engine/cost/figures.h"
#include "ui/context.h"

namespace shardlens::ui {

struct FiguresView {
  /// Planned, priced and run by a worker of their own, from the moment the page is first drawn; null before.
  std::shared_ptr<BackgroundCall<std::vector<WorkedFigure>>> figures;
  std::string source;  ///< the text whose figures are listed; empty: all
};

/// Shows what a figure was counted on: applies its settings and opens the page that has the number.
void show_proof(const Context& context, const WorkedFigure& figure);

}  // namespace shardlens::ui
