// The user's choices in the Train tab, as plain data that is saved, and the training that they ask for.
#pragma once

#include <string>
#include <vector>

#include "engine/train/train_snapshot.h"

namespace shardlens::ui {

struct TrainChoices {
  std::string model = "gpt2-tiny";  ///< a preset
  int64_t layers = 4;
  int tp = 2, dp = 1;
  DType dtype = DType::Fp32;  ///< 16 bits have fp32 masters, fp16 a loss scale as well
  int64_t batch = 8, seq = 64;
  int64_t steps = 300;
  double peak = 3e-3;  ///< learning rate after the warm-up
  int64_t warmup = 20;
  Decay decay = Decay::Cosine;
  double dropout = 0;
  std::string text;              ///< a file or a folder; empty: the built-in text
  int64_t checkpoint_every = 0;  ///< steps; 0: nothing is saved
  double timeout_seconds = 20;   ///< how long ranks wait for a rank before it is lost; 0: for ever

  bool operator==(const TrainChoices&) const = default;
};

/// The choices that both models of a comparison share. The models are deep for their width and learn at a
/// high rate, because post-LN is known to struggle there (paper, Figure 7). The GPT toy that predicts the
/// next byte shows it within seconds. A BERT first has to learn to use neighbouring words: for hundreds of
/// steps it has learnt only the words' frequencies. Then the pre-LN form's loss falls below that level, and
/// the post-LN one's stays there. Short rows and many of them make that happen soonest.
TrainChoices comparison_choices(Objective family = Objective::NextToken);

/// The default for what a model is asked to write.
WritingWish writing_choices();

/// Returns what differs between two choices, with the values of `of`: "T = 2, 300 steps". Empty if they are
/// equal.
std::string difference(const TrainChoices& of, const TrainChoices& from);

/// One model. Throws a request Error if the preset does not exist.
train_command::Start training_of(const TrainChoices& choices);

/// The choices that ask for a training with these options. The text is none of them.
TrainChoices choices_of(const TrainOptions& options);

/// The model of `options` twice, under the same names.
std::vector<train_command::Model> both_norms(TrainOptions options);

/// The same model twice, with LayerNorm after the residual sum (as in the original BERT) and before each
/// block (Figure 7b of the paper), from the same seed.
train_command::Start comparison_of(const TrainChoices& choices);

/// Returns `choices` for another preset, with its depth. T and the sequence change only if they are not
/// possible.
TrainChoices with_model(TrainChoices choices, const std::string& preset);

/// The same for a comparison. For a model of the other family, it returns that family's comparison.
TrainChoices compared_with_model(TrainChoices choices, const std::string& preset);

}  // namespace shardlens::ui
