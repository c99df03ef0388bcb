// A training run on the disk: a folder that Hugging Face's loaders read as a model, and that a run goes on
// from with the same bits.
//
//   config.json             the model (engine/config/model_config.h)
//   model.safetensors       the parameters under Hugging Face's names
//   optimizer.safetensors   adam.m.<name>, adam.v.<name>, in half precision master.<name> in fp32
//   training.json           step, schedule, loss scale, settings, text and tokenizer, and the checksums of
//                           the two files of tensors and of itself (engine/runtime/checksum.h)
//   tokenizer.json, …       the tokenizer's own files
//
// A checkpoint is written beside its place and changes places with the one before in one move of the file
// system: a kill or a full disk at any moment leaves one of the two, whole.
#pragma once

#include <memory>
#include <string>

#include "engine/io/sole_writer.h"
#include "engine/runtime/executor.h"
#include "engine/train/schedule.h"
#include "engine/train/tokenizer/tokenizer.h"

namespace shardlens {

/// The text a run learns from: enough to see that a resumed run reads the same.
struct TrainText {
  std::string path;
  int64_t tokens = 0;
  std::shared_ptr<const Tokenizer> tokenizer;  ///< null: no text, as in a test
  uint64_t hash = 0;                           ///< TokenFile::hash(); 0: not known
};

/// Everything a run goes on from beside its tensors.
struct TrainingState {
  Settings settings;
  Schedule schedule;
  int64_t steps = 0;      ///< the run was to have, in all
  int64_t step = 0;       ///< done; step * settings.batch rows of the text have been read
  int64_t iteration = 0;  ///< updates of the optimizer: steps without those that overflowed
  double loss_scale = 1;
  int64_t scale_good_steps = 0;  ///< since the loss scale last changed
  std::string text_path;
  int64_t text_tokens = 0;
  uint64_t text_hash = 0;  ///< 0: an older version's, which did not keep it
  std::string tokenizer;   ///< its name; empty: none
  uint64_t tokenizer_fingerprint = 0;
};

/// Keeps other runs from saving there for as long as it lives. Throws a request Error when a checkpoint may
/// not be put there: a file, a folder of something else, or one that another run saves to.
std::unique_ptr<SoleWriter> take_checkpoint_place(const std::string& folder);

/// Throws a request Error where `folder` holds the checkpoint of a run other than the one gone on with from
/// `resume` (empty: none), since saving there would replace it.
void require_no_other_run(const std::string& folder, const std::string& resume);

/// Writes the tensors that stand in `executor`'s ranks, which are idle, and `state`, to a place that is
/// taken. Throws a run Error that says what went wrong and that the checkpoint before stands as it was; also
/// when a parameter is not a finite number, which no run could go on from.
void save_checkpoint(const std::string& folder, const TrainingState& state, const TrainText& text,
                     const Executor& executor, const Program& program);

/// True if a training run was saved in `folder`.
bool is_checkpoint(const std::string& folder);

/// Reads training.json. Throws a request Error that names the file and what is wrong or missing.
TrainingState read_training_state(const std::string& folder);

/// Where a checkpoint's weights lie, after a look that they belong to the same step as the rest.
std::string checkpoint_weights(const std::string& folder, const TrainingState& state);

/// Gives the ranks, which are idle, the optimizer's state. Throws a request Error when the file is not as it
/// was saved, and one that names the tensor when it does not fit the Program.
void load_optimizer_state(const std::string& folder, const TrainingState& state, Executor& executor,
                          const Program& program);

/// Throws a request Error unless `text` is what the checkpoint was trained on.
void require_same_text(const TrainingState& state, const TrainText& text);

}  // namespace shardlens
