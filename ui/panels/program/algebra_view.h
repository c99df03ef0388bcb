// The state of the page "What a sum allows", and its runs.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "engine/laboratory/laboratory.h"
#include "engine/record/sample.h"
#include "ui/context.h"

namespace shardlens::ui {

/// One run, with its matrices as pictures.
struct AlgebraRun {
  lab::Outcome outcome;
  Picture x, together, whole, difference;
  std::vector<Picture> held, results;
  int64_t worst_row = 0, worst_col = 0;  ///< where the difference is largest
};

/// The runs made so far, each once.
class AlgebraRuns {
 public:
  /// Makes the run if it is not there yet. `experiment` and `way` are indices.
  std::shared_ptr<const AlgebraRun> of(size_t experiment, size_t way, int ranks);
  bool has(size_t experiment, size_t way, int ranks) const;

 private:
  std::map<std::array<size_t, 3>, std::shared_ptr<const AlgebraRun>> runs_;
};

struct AlgebraView {
  size_t experiment = 0;
  size_t way = 0;  ///< of the experiment
  int ranks = 4;
  int64_t row = -1, col = -1;  ///< the number of the result that is read; -1: where the difference is largest

  bool brought_into_view = false;  ///< its row of the list

  /// Shows another run. The number is again the one that differs most.
  void show(size_t experiment_, size_t way_, int ranks_) {
    *this = {.experiment = experiment_, .way = way_, .ranks = ranks_};
  }
  const lab::Experiment& shown_experiment() const { return lab::experiments()[experiment]; }
  const lab::Way& shown_way() const { return shown_experiment().ways[way]; }
};

/// What the runs of one layout found together.
enum class Allowed { NotAsked, Right, Wrong, Depends, Unknown };

/// Draws every rank's part of X and of the result, the joined result, the whole one and the difference, with
/// the read number below each. A click chooses the number. Returns the height it took (algebra_pictures.cpp).
float draw_algebra_pictures(const Context& context, const std::shared_ptr<const AlgebraRun>& run, ImVec2 min,
                            ImVec2 size);

}  // namespace shardlens::ui
