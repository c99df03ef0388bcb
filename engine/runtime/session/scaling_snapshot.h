// What the studio may show about scaling, as immutable data, and the commands for it: prices on machines that
// the user does not have, and measurements of this machine. The counterpart of snapshot.h.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "engine/cost/model_price.h"
#include "engine/cost/pipeline_schedule.h"
#include "engine/cost/scaling.h"
#include "engine/runtime/measure/measured_scaling.h"

namespace shardlens {

/// The paper's points and the model's curve on the paper's machine.
struct PaperScaling {
  std::vector<ScalingPoint> points;
  std::string predicted_on;  ///< "DGX-2H, fitted"
  std::string basis;
};

/// Where a group of T ranks, as many as a node has, is doubled and extends over two nodes: one layer of the
/// settings, and the same layer with smaller and larger hidden sizes.
struct Crossing {
  int64_t hidden = 0;
  BreakEven even;
};
struct CrossingStudy {
  Settings settings;  ///< with the T and the hardware that were asked about
  std::string predicted_on, basis;
  BreakEven even;
  std::vector<Crossing> by_hidden;  ///< ascending
  std::string refused;              ///< why there is no `even`; names what would work
};

/// A whole model's training step on T x D x P devices.
struct ClusterStudy {
  Settings settings;
  int stages = 1;
  Hardware hardware;
  ModelPrice price;
  PipelineSchedule schedule;  ///< small enough to draw: fewer stages and proportionally fewer parts
  double price_seconds = 0;   ///< how long pricing took, measured
  std::string refused;        ///< why there is no price; names what would work
};

struct ScalingSnapshot {
  uint64_t version = 0;
  std::string machine;                              ///< "AMD EPYC, 2 cores": where everything was measured
  std::shared_ptr<const PaperScaling> paper;        ///< null until asked for
  std::shared_ptr<const CrossingStudy> crossing;    ///< of the last question
  std::shared_ptr<const ClusterStudy> cluster;      ///< of the last question
  std::shared_ptr<const MeasuredScaling> measured;  ///< point by point
  std::shared_ptr<const Hardware> calibrated;       ///< in this process, and adopted; null: not yet
  std::string stored_in;                            ///< the calibration's file; empty: it could not be stored
  std::string activity;                             ///< what is measured now; empty: nothing
  double share = 0;                                 ///< how much of it is done
  std::string message;  ///< why the last measurement ended early; empty: it did not

  bool measures() const { return !activity.empty(); }
};

namespace scaling_command {
struct PricePaper {};
/// One layer of `settings` on as many ranks as a node of `settings.hardware` has, and on twice as many.
struct PriceCrossing {
  Settings settings;
};
/// A training step of `settings`, a whole model, in `stages` stages on `settings.hardware`.
struct PriceCluster {
  Settings settings;
  int stages = 1;
};
/// Runs scaling_runs() of `settings`. Ignored while a measurement goes on; send it again when that is done.
struct Measure {
  Settings settings;
};
/// Measures this machine in `dtype`, uses the result at once, and stores it where every Shardlens program
/// finds it.
struct Calibrate {
  DType dtype = DType::Fp32;
  int repetitions = 5;  ///< of every model; of these the median counts
};
struct Stop {
  std::string why = "stopped";
};  ///< gives up the present measurement; points that are there stay
}  // namespace scaling_command

using ScalingCommand =
    std::variant<scaling_command::PricePaper, scaling_command::PriceCrossing, scaling_command::PriceCluster,
                 scaling_command::Measure, scaling_command::Calibrate, scaling_command::Stop>;

}  // namespace shardlens
