// What the studio may know of a training run, as immutable data, and what it may ask for: the counterpart of
// engine/runtime/snapshot.h for many steps instead of one.
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
  std::vector<double> gradient_norms;  ///< as TrainCurve::groups; before clipping
};

/// What models are asked to write while they are trained.
struct WritingWish {
  std::string prompt = "In the beginning";
  int64_t tokens = 160;
  double temperature = 0.8;  ///< as Sampling's; 0: always the likeliest token
  int64_t every = 0;         ///< steps, from before the first on; 0: when asked alone

  bool operator==(const WritingWish&) const = default;
};

/// What a model wrote with the weights it had after a step. A text longer than the rows it learns from goes
/// on from its own second half: positions behind theirs were never learnt.
struct WrittenText {
  int64_t step = 0;  ///< 0: before the first
  std::string prompt, text;
  int64_t tokens = 0;  ///< written
  double seconds = 0;
  bool going_on = false;  ///< more will follow
  WritingEnd end = WritingEnd::Tokens;
};

/// One model being trained. Two of them, trained in turn on the same batches, make a comparison.
struct TrainCurve {
  std::string name;
  TrainOptions options;
  std::shared_ptr<const Plan> plan;  ///< null until it is planned
  CommunicatorInfo communicator;
  double ceiling_flops = 0;         ///< GEMM ceiling of these products, measured; 0: not yet
  std::vector<std::string> groups;  ///< "embedding", "layer 0", …, "head"
  std::vector<std::shared_ptr<const TrainStep>> steps;
  int64_t stride = 1;  ///< of a long recording `steps` holds every so many-th step alone
  std::vector<ValidationReport> validations;
  std::vector<std::shared_ptr<const WrittenText>> texts;
  std::string writing_problem;  ///< why the last text was not written
  std::string ended;            ///< why it stopped before its last step; empty while it goes on or is done
  std::optional<RunFailure> failure;  ///< of `ended`: the ranks and the step of `plan`, where it was theirs
  std::string checkpoint;             ///< the folder it is saved to; empty: it is not
  int64_t saved_step = 0;             ///< after which it was saved last; 0: not yet
  std::string save_problem;           ///< why the last save did not succeed

  /// An encoder fills words in and has none to add.
  bool can_write() const { return options.settings.model.architecture == Architecture::Gpt; }
  bool done() const { return static_cast<int64_t>(steps.size()) >= options.steps; }
};

enum class TrainState { Idle, Preparing, Running, Paused, Done, Stopped, Refused, Failed };
std::string to_string(TrainState state);

/// The text that is learnt.
struct LearntText {
  std::string name;  ///< "Genesis (built in)", or the path
  int64_t train_tokens = 0, validation_tokens = 0;
  std::string tokenizer;
  double unigram_entropy_nats = 0;  ///< per token: what a model that ignores context reaches; 0: not yet
};

/// A training step that stands still: everything a run of the studio shows of a Program, of this very step.
struct FrozenStep {
  size_t curve = 0;
  int64_t step = 0;
  std::shared_ptr<const Snapshot> shown;
};

struct TrainSnapshot {
  uint64_t version = 0;
  TrainState state = TrainState::Idle;
  std::string activity;  ///< "reading the text", "writing a text"; empty while steps are made or nothing is
  std::string message;   ///< why Refused or Failed; names the remedy
  std::string machine;   ///< "AMD EPYC, 2 cores": where everything was measured
  LearntText text;
  std::vector<std::shared_ptr<const TrainCurve>> curves;
  std::shared_ptr<const FrozenStep> frozen;  ///< null: nothing is frozen
  RecordingState recording;                  ///< of the steps that are made

  bool is_active() const { return state == TrainState::Preparing || state == TrainState::Running; }
};

namespace train_command {
/// One model to train. The session sets what shares the machine with the ranks.
struct Model {
  std::string name;
  TrainOptions options;
};
/// Gives up what is trained and begins anew. All models take their steps in turn, on the same text.
struct Start {
  std::vector<Model> models;
  std::string text;  ///< a file, a folder or a prepared corpus; empty: the built-in text
  /// Where models with a TrainOptions::checkpoint_every are saved, each in a new folder of its own.
  std::string checkpoints = {};
  WritingWish writing = {};  ///< of what can write: GPT models
};
/// What is written from now on; `now`: at once as well, by every model that is trained or done.
struct Write {
  WritingWish wish;
  bool now = false;
};
/// Begins what was given up or failed once more, each model from its last checkpoint, else from its first
/// step.
struct Restart {};
/// In its next step this rank of all hangs, as one that crashed does.
struct LoseRank {
  int rank = 0;
};
struct Pause {};   ///< after the present step
struct Resume {};  ///< goes on; lets a frozen step go
struct Stop {};    ///< gives the run up at once; its curves stay
/// Samples the next step of a curve and pauses after it; of a run that is done, shows its last step.
struct Freeze {
  size_t curve = 0;
};
/// Records every step from now on into files of its own making in `folder`, one for each curve; an empty one
/// ends that.
struct Record {
  std::string folder;
};
struct LetGo {};  ///< the frozen step is no longer shown; the run stays paused
}  // namespace train_command

using TrainCommand =
    std::variant<train_command::Start, train_command::Restart, train_command::Write, train_command::LoseRank,
                 train_command::Pause, train_command::Resume, train_command::Stop, train_command::Freeze,
                 train_command::Record, train_command::LetGo>;

}  // namespace shardlens
