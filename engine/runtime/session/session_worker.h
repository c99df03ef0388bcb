// The Session's worker: its turns, its queue and its passes. Private to the session's two files.
//
// Protocol. In each turn the worker takes the commands from its mailbox, and waits a few milliseconds for
// what runs. So a new command interrupts whatever runs. The work to do is a list of passes over the Program:
// one that samples every tensor, two that are only timed (the first warms up), one serial run, one that
// compares. Each pass is a real execution of the same Program. Runs are deterministic, so pictures, times and
// errors belong together though they come from different passes. A Snapshot is copied out after every change
// and never changed again.
#pragma once

#include <deque>
#include <map>
#include <tuple>
#include <utility>

#include "engine/base/background_call.h"
#include "engine/base/one_run.h"
#include "engine/device/gemm_bench.h"
#include "engine/runtime/executor.h"
#include "engine/runtime/mailbox.h"
#include "engine/runtime/measure/loss_lens.h"
#include "engine/runtime/parity.h"
#include "engine/runtime/plan.h"
#include "engine/runtime/recordings/run_recorder.h"
#include "engine/runtime/sampler.h"
#include "engine/runtime/session/session.h"
#include "engine/runtime/window_reader.h"

namespace shardlens {

enum class Pass { Sample, WarmUp, Time, Serial, Compare, Ceiling, Move, LossFused, LossGathered, Windows };

class Session::Worker {
 public:
  Worker(const Settings& settings, Begin begin) {
    now_.settings = settings;
    now_.reads_windows = true;
    if (begin == Begin::WhenAsked) {
      now_.state = RunState::Cancelled;
      now_.message = "Nothing has run yet.";
    }
    publish();
    if (begin == Begin::AtOnce) mail_.send(command::SetSettings{settings});
    mail_.start(
        "a session", [this] { return turn(); }, [this] { finish(); });
  }

  ~Worker() { end(); }

  void end() {
    if (!mail_.is_started()) return;
    mail_.close();
    mail_.join();
  }

  Mailbox<Command, Snapshot>& mail() { return mail_; }

 private:
  NextTurn turn();
  NextTurn end_turn();
  void work();
  void finish();
  std::optional<Command> take_command();
  void handle(Command command);
  void set_settings(const Settings& settings);
  void begin_result();
  void begin_pass();
  bool wait_for_pass(double seconds);
  void finish_pass();
  void queue_whole_run();
  void begin_long_run();
  void queue_comparison();
  void plan_recompute();
  void queue_losses();
  void begin_loss(LossForm form);
  bool wait_for_loss(double seconds);
  void finish_loss(LossForm form);
  void begin_windows();
  void answer_windows();
  void move_to(size_t position);
  void stop_passes();
  void ensure_executor();
  void keep_what_was_done();
  void stop_with(RunState state, const std::string& message, std::optional<RunFailure> failure = {});
  void publish();
  void record_result();

  Mailbox<Command, Snapshot> mail_;

  // only the worker uses these
  Snapshot now_;
  Result result_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Executor> serial_executor_;
  std::unique_ptr<Executor> loss_executor_;  ///< the loss in one of its two forms
  std::shared_ptr<const Plan> loss_plan_;
  std::shared_ptr<LossReader> loss_reader_;
  bool loss_timed_ = false;  ///< the loss has been read, and the pass that runs is the timed one
  std::shared_ptr<Sampler> sampler_;
  std::shared_ptr<ParityCheck> parity_;
  std::optional<command::ReadWindows> windows_wanted_;  ///< not answered yet
  std::shared_ptr<WindowReader> window_reader_;
  std::shared_ptr<SerialReference> serial_;
  Settings serial_settings_;
  std::shared_ptr<SerialReference> serial_in_progress_;
  /// What a ceiling depends on: the backend, TF32 and the dtype.
  using CeilingOf = std::tuple<BackendChoice, bool, DType>;
  static CeilingOf ceiling_of(const Settings& settings) {
    return {settings.backend, settings.tf32, settings.dtype};
  }
  static Job<std::pair<CeilingOf, double>> measure_ceiling(Settings settings, std::vector<GemmShape> shapes);
  /// Being measured; may outlive the settings that asked for it.
  std::unique_ptr<BackgroundCall<std::pair<CeilingOf, double>>> ceiling_;
  std::map<CeilingOf, double> ceilings_;  ///< FLOP/s of all cores or GPUs together, measured once per process
  std::deque<Pass> passes_;
  OneRun one_run_;  ///< while there are passes
  double told_progress_seconds_ = 0;  ///< when a running pass was published last
  bool pass_running_ = false;
  size_t move_target_ = 0;
  RunRecorder recordings_{"studio"};
  bool to_record_ = false;      ///< the run is whole and timed, but not yet in its recording
  bool last_recorded_ = false;  ///< the recording ends with that run
};

}  // namespace shardlens
