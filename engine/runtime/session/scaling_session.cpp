// The worker behind a ScalingSession.
//
// Protocol. send() appends to a queue under a lock; the pricing worker takes from it. A price takes
// milliseconds, so it is never interrupted; of several commands of one kind in a row only the last counts. A
// measurement has a worker of its own, so sliders are answered while it goes on; it often checks if it must
// stop. Both workers change the one snapshot under the same lock, and a published snapshot is never changed
// again.
#include "engine/runtime/session/scaling_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/job.h"
#include "engine/config/hardware_file.h"
#include "engine/config/presets.h"
#include "engine/io/file_problem.h"
#include "engine/runtime/mailbox.h"
#include "engine/runtime/plan.h"

namespace shardlens {
namespace {

constexpr int kRepetitions = 9;
constexpr int64_t kHiddenSizes[] = {1024, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};
constexpr int kMostDrawnStages = 8, kMostDrawnParts = 48;
constexpr int64_t kUsualHead = 64;  // typical number of features of a head

/// Returns a layer of `settings` with this hidden size, in heads that twice T divides; with its own hidden
/// size it stays unchanged.
Settings of_width(Settings settings, int64_t hidden) {
  if (hidden == settings.model.hidden) return settings;
  const int64_t group = 2 * settings.tp;
  settings.model.heads = std::max<int64_t>(1, (hidden / kUsualHead + group / 2) / group) * group;
  settings.model.hidden = hidden;
  settings.model.ffn = 4 * hidden;
  return settings;
}

std::shared_ptr<const CrossingStudy> study(const scaling_command::PriceCrossing& wish) {
  auto study = std::make_shared<CrossingStudy>();
  study->settings = wish.settings;
  try {
    const Hardware& hardware = find_hardware(wish.settings.hardware);
    study->predicted_on = hardware.title;
    study->basis = hardware.basis;
    study->settings.tp = hardware.ranks_per_node;
    for (const int64_t hidden : kHiddenSizes) {
      const Settings layer = of_width(study->settings, hidden);
      if (hidden % layer.model.heads == 0) study->by_hidden.push_back({hidden, break_even(layer, hardware)});
    }
    study->even = break_even(study->settings, hardware);
  } catch (const Error& error) {
    study->refused = error.what();
  }
  return study;
}

/// The pipeline in few enough pieces to be drawn, with a bubble of about the same share. Backward computes
/// twice what forward does; with full recomputation three times.
PipelineSchedule schedule_to_draw(const Settings& settings, int stages) {
  const int drawn = std::min(stages, kMostDrawnStages);
  const int64_t parts = (int64_t{settings.micro_batches} * drawn + stages / 2) / stages;
  const double backward = settings.recompute == Recompute::Full ? 3 : 2;
  return schedule_pipeline(drawn, static_cast<int>(std::clamp<int64_t>(parts, 1, kMostDrawnParts)), 1,
                           backward);
}

std::shared_ptr<const ClusterStudy> study(const scaling_command::PriceCluster& wish) {
  auto study = std::make_shared<ClusterStudy>();
  study->settings = wish.settings;
  study->stages = wish.stages;
  const auto begin = std::chrono::steady_clock::now();
  try {
    study->hardware = find_hardware(wish.settings.hardware);
    study->price = price_model(wish.settings, study->hardware, wish.stages);
    study->schedule = schedule_to_draw(wish.settings, wish.stages);
  } catch (const Error& error) {
    study->refused = error.what();
  }
  study->price_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return study;
}

}  // namespace

class ScalingSession::Worker {
 public:
  Worker() {
    now_.machine = machine_description();
    mail_.publish(std::make_shared<ScalingSnapshot>(now_));
    mail_.start("the prices of the scaling page", [this] { return turn(); });
  }

  ~Worker() {
    {
      const std::lock_guard lock(mutex_);
      quit_ = stop_ = true;
    }
    mail_.close();
    mail_.join();
    if (measuring_.is_started()) measuring_.join();
  }

  void send(ScalingCommand command) {
    if (const auto* stop = std::get_if<scaling_command::Stop>(&command)) {
      const std::lock_guard lock(mutex_);
      stop_ = true;
      why_ = stop->why;
      return;
    }
    const size_t kind = command.index();
    mail_.send(std::move(command), [kind](auto& queue) {
      if (!queue.empty() && queue.back().index() == kind) queue.pop_back();
    });
  }

  const Mailbox<ScalingCommand, ScalingSnapshot>& mail() const { return mail_; }

 private:
  NextTurn turn() {
    if (!mail_.begin_turn()) return kEnds;
    if (const std::optional<ScalingCommand> command = mail_.take()) handle(*command);
    return mail_.end_turn(false);
  }

  void handle(const ScalingCommand& command) {
    if (std::holds_alternative<scaling_command::PricePaper>(command)) {
      auto paper = std::make_shared<PaperScaling>();
      paper->points = paper_scaling();
      paper->predicted_on = paper_hardware().title;
      paper->basis = paper_hardware().basis;
      change([&](ScalingSnapshot& now) { now.paper = std::move(paper); });
    } else if (const auto* crossing = std::get_if<scaling_command::PriceCrossing>(&command)) {
      change([result = study(*crossing)](ScalingSnapshot& now) { now.crossing = result; });
    } else if (const auto* cluster = std::get_if<scaling_command::PriceCluster>(&command)) {
      change([result = study(*cluster)](ScalingSnapshot& now) { now.cluster = result; });
    } else if (const auto* measure = std::get_if<scaling_command::Measure>(&command)) {
      start("measuring this machine", run_study(measure->settings));
    } else if (const auto* calibration = std::get_if<scaling_command::Calibrate>(&command)) {
      start("calibrating this machine", run_calibration(*calibration));
    }
  }

  /// Changes the snapshot and publishes it.
  void change(const std::function<void(ScalingSnapshot&)>& how) {
    const std::lock_guard lock(mutex_);
    how(now_);
    ++now_.version;
    mail_.publish(std::make_shared<ScalingSnapshot>(now_));
  }

  /// Begins a measurement by its worker, unless one is already running.
  void start(const char* activity, Job<> work) {
    {
      const std::lock_guard lock(mutex_);
      if (quit_ || now_.measures()) return;
      stop_ = false;
    }
    change([&](ScalingSnapshot& now) {
      now.activity = activity;
      now.share = 0;
      now.message.clear();
    });
    if (measuring_.is_started()) measuring_.join();
    work_ = std::move(work);
    mail_.hold();
    try {
      measuring_.start("the measurement of scaling", [this] { return measure(); });
    } catch (const std::exception& error) {
      end_measurement(message_of(error));
    }
  }

  /// A turn of the measuring worker.
  NextTurn measure() {
    std::string message;
    try {
      if (!work_->go_on()) return kAtOnce;
    } catch (const std::exception& error) {
      message = message_of(error);
    }
    end_measurement(message);
    return kEnds;
  }

  void end_measurement(const std::string& message) {
    work_.reset();
    change([&](ScalingSnapshot& now) {
      now.activity.clear();
      now.message = message;
    });
    mail_.release();
  }

  /// Writes the progress into the snapshot; throws at once if the measurement must stop.
  Measuring measuring(const std::string& what) {
    return {[this, what](const std::string& doing, double share) {
      const std::string activity = what + ": " + doing;
      {
        const std::lock_guard lock(mutex_);
        if (stop_) throw Error(ErrorKind::Cancelled, why_);
        if (now_.activity == activity && now_.share == share) return;
      }
      change([&](ScalingSnapshot& now) {
        now.activity = activity;
        now.share = share;
      });
    }};
  }

  Job<> run_study(Settings settings) {
    const std::function<void(const MeasuredScaling&)> on_point = [this](const MeasuredScaling& so_far) {
      change([&](ScalingSnapshot& now) { now.measured = std::make_shared<MeasuredScaling>(so_far); });
    };
    const Measuring tells = measuring("measuring");
    co_await measure_scaling_in_pieces(settings, kRepetitions, tells, on_point);
  }

  Job<> run_calibration(scaling_command::Calibrate asked) {
    co_await GiveWay();
    const Hardware hardware = with_other_dtypes(
        calibrate(calibration_models(asked.dtype), asked.repetitions, measuring("calibrating")),
        find_hardware(kThisMachine));
    adopt_calibration(hardware);
    // Stored last: if that fails, this process still uses it, and the message gives the reason.
    change([&](ScalingSnapshot& now) {
      now.calibrated = std::make_shared<Hardware>(hardware);
      now.stored_in.clear();
    });
    const std::string path = calibration_path();
    if (path.empty())
      throw request_error(
          "the calibration is used until the studio ends, but there is no folder to store it in: set "
          "XDG_DATA_HOME or HOME");
    write_hardware_file(hardware, path);
    change([&](ScalingSnapshot& now) { now.stored_in = path; });
  }

  Mailbox<ScalingCommand, ScalingSnapshot> mail_;

  // shared by the two workers, and by who sends Stop
  std::mutex mutex_;
  ScalingSnapshot now_;
  bool quit_ = false;
  bool stop_ = false;
  std::string why_ = "the studio ends";

  std::optional<Job<>> work_;   ///< what is measured; only the measuring worker's while it runs
  BackgroundWorker measuring_;  ///< started and joined by the pricing worker, and joined by the destructor
};

ScalingSession::ScalingSession() : worker_(std::make_unique<Worker>()) {}
ScalingSession::~ScalingSession() = default;
void ScalingSession::send(ScalingCommand command) {
  worker_->send(std::move(command));
}
std::shared_ptr<const ScalingSnapshot> ScalingSession::snapshot() const {
  return worker_->mail().snapshot();
}
std::shared_ptr<const ScalingSnapshot> ScalingSession::wait_until_idle(double timeout_seconds) const {
  return worker_->mail().wait_until_idle(timeout_seconds);
}

}  // namespace shardlens
