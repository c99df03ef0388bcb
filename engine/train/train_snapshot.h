// What the studio shows of a training run, as immutable data, and the commands that it can send. It is the
// counterpart of engine/runtime/snapshot.h for many steps instead of one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/runtime/snapshot.h"
#include "engine/train/generate/writing.h"
#include "engine/train/trainer.h"

namespace shardlens {

/// One training step: the trainer's report, and the gradients' norm of each group of layers.
struct TrainStep {
  StepReport report;
  std::vector<double> gradient_norms;  ///< in the order of TrainCurve::groups; before clipping
};

/// The text that models write during training.
struct WritingWish {
  std::string prompt = "In the beginning";
  int64_t tokens = 160;
  double temperature = 0.8;  ///< as in Sampling; 0: always the likeliest token
  int64_t every = 0;  ///< number of steps between texts, from before the first step on; 0: only on request

  bool operator==(const WritingWish&) const = default;
};

/// A text that a model wrote with the weights after a step. If the text becomes longer than the training
/// rows, the model continues from the second half of the text, because it has not learned later positions.
struct WrittenText {
  int64_t step = 0;  ///< 0: before the first
  std::string prompt, text;
  int64_t tokens = 0;  ///< tokens written
  double seconds = 0;
  bool going_on = false;  ///< more will follow
  WritingEnd end = WritingEnd::Tokens;
};

/// One model in training. Two models that take their steps in turn on the same batches make a comparison.
struct TrainCurve {
  std::string name;
  TrainOptions options;
  std::shared_ptr<const Plan> plan;  ///< null until it is planned
  CommunicatorInfo communicator;
  double ceiling_flops = 0;         ///< GEMM ceiling of these products, measured; 0: not yet
  std::vector<std::string> groups;  ///< "embedding", "layer 0", …, "head"
  std::vector<std::shared_ptr<const TrainStep>> steps;
  int64_t stride = 1;  ///< in a long recording, `steps` holds only every stride-th step
  std::vector<ValidationReport> validations;
  std::vector<std::shared_ptr<const WrittenText>> texts;
  std::string writing_problem;  ///< why the last text was not written
  std::string ended;  ///< why it stopped before its last step; empty while it runs and when it is done
  std::optional<RunFailure> failure;  ///< for `ended`: the failed ranks and step of `plan`, if any
  std::string checkpoint;             ///< the folder it is saved to; empty: not saved
  int64_t saved_step = 0;             ///< the step of the last save; 0: not yet
  std::string save_problem;           ///< why the last save failed

  /// False for an encoder, which fills in words but cannot add any.
  bool can_write() const { return options.settings.model.objective == Objective::NextToken; }
  bool done() const { return static_cast<int64_t>(steps.size()) >= options.steps; }
};

enum class TrainState { Idle, Preparing, Running, Paused, Done, Stopped, Refused, Failed };
std::string to_string(TrainState state);

/// The training text.
struct LearntText {
  std::string name;  ///< "Genesis (built in)", or the path
  int64_t train_tokens = 0, validation_tokens = 0;
  std::string tokenizer;
  double unigram_entropy_nats = 0;  ///< per token: the loss of a model that ignores context; 0: not known yet
  std::vector<std::string>
      left_out;  ///< what of it was not read: sentences, as read_documents() returns them
};

/// A frozen training step: everything that the studio shows of a Program's run, for this step.
struct FrozenStep {
  size_t curve = 0;
  int64_t step = 0;
  std::shared_ptr<const Snapshot> shown;
};

struct TrainSnapshot {
  uint64_t version = 0;
  TrainState state = TrainState::Idle;
  std::string activity;  ///< "reading the text", "writing a text"; empty during steps and when idle
  std::string message;   ///< why Refused or Failed, and what would help
  std::string machine;   ///< "AMD EPYC, 2 cores": the machine that everything was measured on
  LearntText text;
  std::vector<std::shared_ptr<const TrainCurve>> curves;
  std::shared_ptr<const FrozenStep> frozen;  ///< null: nothing is frozen
  RecordingState recording;                  ///< recording of the steps
  int64_t saves = 0;                         ///< how many Save commands are done

  bool is_active() const { return state == TrainState::Preparing || state == TrainState::Running; }
};

namespace train_command {
/// One model to train. The session sets the options for the observers that share the machine with the ranks.
struct Model {
  std::string name;
  TrainOptions options;
};
/// Stops the present training and begins a new one. All models take their steps in turn, on the same text.
struct Start {
  std::vector<Model> models;
  std::string text;  ///< a file, a folder or a prepared corpus; empty: the built-in text
  /// The folder in which models with a TrainOptions::checkpoint_every are saved, each in a new folder of its
  /// own.
  std::string checkpoints = {};
  WritingWish writing = {};  ///< for models that can write: GPT models
};
/// Sets what is written from now on. `now`: every model that is in training or done also writes at once.
struct Write {
  WritingWish wish;
  bool now = false;
};
/// Restarts a training that was stopped or failed, each model from its last checkpoint, or else from its
/// first step.
struct Restart {};
/// In the next step this world rank hangs, like one that crashed.
struct LoseRank {
  int rank = 0;
};
struct Pause {};   ///< pauses after the present step
struct Resume {};  ///< continues; releases a frozen step
struct Stop {};    ///< stops the run at once; its curves stay
/// Samples the next step of a curve and pauses after it. If the run is done, shows its last step.
struct Freeze {
  size_t curve = 0;
};
/// Records every step from now on into new files in `folder`, one for each curve. An empty `folder` ends the
/// recording.
struct Record {
  std::string folder;
};
/// Pauses after the present step, and saves what is in no checkpoint yet: of the models that are saved to
/// one, and with `all` of the others too, in new folders in Start::checkpoints. TrainSnapshot::saves counts
/// it, and TrainCurve::save_problem says why a model could not be saved.
struct Save {
  bool all = false;
};
struct LetGo {};  ///< the frozen step is no longer shown; the run stays paused
}  // namespace train_command

using TrainCommand =
    std::variant<train_command::Start, train_command::Restart, train_command::Write, train_command::LoseRank,
                 train_command::Pause, train_command::Resume, train_command::Stop, train_command::Freeze,
                 train_command::Record, train_command::Save, train_command::LetGo>;

}  // namespace shardlens
