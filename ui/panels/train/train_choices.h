// What a person chooses in the Train tab, as plain data that is remembered, and the training it asks for.
#pragma once

#include <string>

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
  double timeout_seconds = 20;   ///< how long ranks wait for one of them before it is lost; 0: for ever

  bool operator==(const TrainChoices&) const = default;
};

/// What the two models of a comparison share: deep for their width and taught fast, where post-LN is known to
/// struggle (paper, Figure 7). The GPT toy that predicts the next byte shows it within seconds. A BERT first
/// has to learn to look at its neighbours: for hundreds of steps it knows the words' frequencies and nothing
/// else, and then the pre-LN form gets below them where the post-LN one stays. Short rows and many of them
/// bring that moment nearest.
TrainChoices comparison_choices(Architecture family = Architecture::Gpt);

/// What a model is asked to write, if nobody says otherwise.
WritingWish writing_choices();

/// One model. Throws a request Error for a preset that is not there.
train_command::Start training_of(const TrainChoices& choices);

/// The same model twice, with LayerNorm after the residual sum (as in the original BERT) and before each
/// block (Figure 7b of the paper), from the same seed.
train_command::Start comparison_of(const TrainChoices& choices);

/// `choices` with another preset's own depth, and sizes moved as little as they must to remain possible.
TrainChoices with_model(TrainChoices choices, const std::string& preset);

/// The same of a comparison: of a model of the other family, that family's comparison.
TrainChoices compared_with_model(TrainChoices choices, const std::string& preset);

}  // namespace shardlens::ui
