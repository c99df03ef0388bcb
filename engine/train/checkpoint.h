// A checkpoint: a training run on the disk. Hugging Face's loaders can read the folder as a model, and a run
// that is resumed from it gives the same bits.
//
//   config.json             the model (engine/config/model_config.h)
//   model.safetensors       the parameters under Hugging Face's names
//   optimizer.safetensors   adam.m.<name>, adam.v.<name>, in half precision master.<name> in fp32
//   training.json           step, schedule, loss scale, settings, text and tokenizer, and the checksums of
//                           the files of tensors and of itself (engine/runtime/checksum.h)
//   tokenizer.json, …       the tokenizer's own files
//
// Tensors of more than kShardBytes are written as several files with an index, as in transformers.
//
// A checkpoint is written into a temporary folder next to its place (engine/io/temporary_folder.h). Then it
// replaces the previous checkpoint in one move of the file system. So a kill or a full disk at any moment
// leaves one whole checkpoint, the old or the new. Other files in its folder belong to the user and stay.
#pragma once

#include <memory>
#include <string>

#include "engine/io/held_folder.h"
#include "engine/io/safetensors.h"
#include "engine/io/sole_writer.h"
#include "engine/runtime/executor.h"
#include "engine/train/schedule.h"
#include "engine/train/tokenizer/tokenizer.h"

namespace shardlens {

/// The text that a run learns from: enough to check that a resumed run reads the same text.
struct TrainText {
  std::string path;
  int64_t tokens = 0;
  std::shared_ptr<const Tokenizer> tokenizer;  ///< null: no text, as in a test
  uint64_t hash = 0;                           ///< TokenFile::hash(); 0: not known
};

/// Everything except the tensors that a resumed run needs.
struct TrainingState {
  Settings settings;
  Schedule schedule;
  int64_t steps = 0;      ///< the total number of steps of the run
  int64_t step = 0;       ///< steps done; step * settings.batch rows of the text have been read
  int64_t iteration = 0;  ///< updates of the optimizer: steps except those that overflowed
  double loss_scale = 1;
  int64_t scale_good_steps = 0;  ///< good steps since the loss scale last changed
  std::string text_path;
  int64_t text_tokens = 0;
  uint64_t text_hash = 0;  ///< 0: written by an older version, which did not keep it
  std::string tokenizer;   ///< the tokenizer's name; empty: none
  uint64_t tokenizer_fingerprint = 0;
};

/// Reserves a folder for checkpoints: other runs cannot save there while the returned object exists. Throws a
/// request Error if a checkpoint must not be put there: the path is a file, a folder with other content, or a
/// folder that another run saves to.
std::unique_ptr<SoleWriter> take_checkpoint_place(const std::string& folder);

/// Throws a request Error if `folder` holds the checkpoint of another run than the one that `resume` names
/// (empty: none), because saving there would replace it; not if --overwrite was given.
void require_no_other_run(const std::string& folder, const std::string& resume);

/// Writes the tensors of `executor`'s ranks, which must be idle, and `state`, to a reserved folder. Throws a
/// run Error that says what went wrong and that the previous checkpoint is unchanged. Also throws it if a
/// parameter is not a finite number, because no run could continue from that. Tensors of more than
/// `shard_bytes` together are written into several files.
void save_checkpoint(const std::string& folder, const TrainingState& state, const TrainText& text,
                     const Executor& executor, const Program& program, int64_t shard_bytes = kShardBytes);

/// True if a training run was saved in `folder`.
bool is_checkpoint(const std::string& folder);

/// Holds the files of the checkpoint in `folder`: while the returned object exists, the functions below read
/// one whole checkpoint, although another run saves the next one there. `folder` must then be the same text.
std::unique_ptr<HeldFolder> hold_checkpoint(const std::string& folder);

/// Reads training.json. Throws a request Error that names the file and what is wrong or missing.
TrainingState read_training_state(const std::string& folder);

/// The path of a checkpoint's weights, after a check that they belong to the same step as the rest.
std::string checkpoint_weights(const std::string& folder, const TrainingState& state);

/// Loads the optimizer's state into the ranks, which must be idle. Throws a request Error if the file is not
/// as it was saved, and one that names the tensor if it does not fit the Program.
void load_optimizer_state(const std::string& folder, const TrainingState& state, Executor& executor,
                          const Program& program);

/// Throws a request Error unless `text` is the text that the checkpoint was trained on.
void require_same_text(const TrainingState& state, const TrainText& text);

}  // namespace shardlens
