// What the planner's modules write a Program with: tensors, steps, the one function that inserts collectives,
// and a tape. A module emits its forward steps and leaves a closure that emits its backward steps; the tape
// is played in reverse at the end, so gradients, f and g come out of the layouts alone.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "engine/program/program.h"

namespace shardlens {

class Builder {
 public:
  explicit Builder(const Settings& settings);

  const Settings& settings() const { return program_.settings; }
  int ranks() const { return program_.ranks(); }
  const Tensor& tensor(TensorId id) const { return program_.tensor(id); }

  /// What sums and statistics are held in: the run's dtype, but fp32 where that is half as wide.
  DType wide() const { return settings().dtype == DType::Fp64 ? DType::Fp64 : DType::Fp32; }

  /// A tensor someone feeds before the first step: X, or the gradient that arrives from the next layer.
  TensorId input(const std::string& name, const std::string& symbol, const Shape& shape,
                 Layout layout = kReplicated);
  TensorId input(const std::string& name, const std::string& symbol, const Shape& shape, DType dtype);
  /// A parameter, the same tensor whenever the same name is asked for. With one rank every layout is
  /// Replicated.
  TensorId weight(const std::string& name, const std::string& symbol, const Shape& shape, int row_dims,
                  Layout layout);
  /// The output of a step about to be added.
  TensorId activation(const std::string& value, const std::string& symbol, const Shape& shape, Layout layout);
  TensorId activation(const std::string& value, const std::string& symbol, const Shape& shape, Layout layout,
                      DType dtype);
  /// The gradient of `of`, in `layout`: its shape and the letter d before its symbol.
  TensorId gradient_tensor(TensorId of, Layout layout);
  /// The same in the layout of `of`, written over it where it is not kept: by its last reader, element by
  /// element.
  TensorId gradient_over(TensorId of);
  TensorId workspace(const std::string& name, const Shape& shape);
  /// The gradient of a parameter, which the step about to be added writes. Where an earlier step wrote one (a
  /// tied matrix, an earlier part of the batch) the new one shares its bytes and adds to it: `inputs` gets
  /// the earlier one and `attributes` says so. Where the step sees only the rank's own tokens, what it writes
  /// of a whole parameter is Partial (`activations` is the layout of what it reads); reduce_over_ranks() sums
  /// it.
  TensorId weight_gradient(TensorId weight, std::vector<TensorId>& inputs, Attributes& attributes,
                           Layout activations = kReplicated);
  /// A tensor the optimizer keeps beside a parameter, in its layout.
  TensorId optimizer_state(const std::string& name, const std::string& symbol, TensorId weight);
  /// A tensor of the run's dtype that stays from pass to pass; steps write it in place.
  TensorId cache(const std::string& value, const std::string& symbol, const Shape& shape, Layout layout);
  /// `of` as the step about to be added leaves it, in the same bytes.
  TensorId in_place(TensorId of, const std::string& value);
  /// The sum of `of` over the replicas, in the same bytes; it takes over the name.
  TensorId sum_over_replicas(TensorId of);
  /// The sum of the Partial `of` over the ranks, in the same bytes.
  TensorId sum_over_ranks(TensorId of);
  /// From now on `gradient` is the newest one of `weight`.
  void supersede_gradient(TensorId weight, TensorId gradient) {
    weight_gradients_[weight].push_back(gradient);
  }
  /// Emits steps whose contributions to the gradient of `x` are summed among themselves before others join
  /// them: in the same order whether or not a conversion of x stands between, so whatever T.
  void summed_apart(TensorId x, const std::function<void()>& emit);
  /// Calls a tensor by another name.
  void rename(TensorId id, const std::string& name);

  /// Adds a step to the current phase and block; returns its first output.
  TensorId step(Op op, const std::string& name, const std::string& equation, std::vector<TensorId> inputs,
                std::vector<TensorId> outputs, const Attributes& attributes = {});

  /// `x` in layout `to`, by the one collective the algebra names, with its conjugate on the tape. `mark`
  /// writes the paper's letter on both halves; with a mark the step is written also where it is the identity.
  TensorId convert(TensorId x, Layout to, Conjugate mark = Conjugate::None);
  /// In the backward pass: `x` for a step that needs it whole. Where the forward pass gathered it from a cut
  /// of the tokens it is gathered again, so that only the rank's own tokens are kept in between (sequence
  /// parallelism).
  TensorId whole_again(TensorId x);

  /// Integer operands: `x` rounded to small integers, so that products sum exactly; `x` itself otherwise. The
  /// gradient passes straight through.
  TensorId operand(TensorId x);

  /// Emits backward steps when the tape is played.
  void on_backward(std::function<void()> emit) { tape_.push_back({std::move(emit), block_, layer_}); }
  /// `forward(x)`, whose activations are not kept: the backward pass emits it again from x before its
  /// gradients (activation checkpointing). `forward` is called twice.
  TensorId recomputed(TensorId x, const std::function<TensorId(TensorId)>& forward);
  /// The gradient of `of`, all contributions summed, in gradient_layout(of.layout).
  TensorId gradient(TensorId of);
  /// For a matrix that is used twice: has the backward steps of its last use emitted before those of its
  /// first, which calls emit_postponed(), instead of now.
  void postpone(TensorId weight, std::function<void()> emit) {
    postponed_[weight].push_back(std::move(emit));
  }
  void emit_postponed(TensorId weight);
  void add_gradient(TensorId of, TensorId gradient) { contributions_[of].push_back(gradient); }

  void set_block(const std::string& block) { block_ = block; }
  const std::string& block() const { return block_; }

  /// Layer `index` of a whole model: its values are called "h.<index>.…" until -1 leaves the layers.
  void set_layer(int64_t index) { layer_ = static_cast<int>(index); }
  /// The layer parameters belong to: the one set, else the one the settings name.
  int64_t layer() const { return layer_ >= 0 ? layer_ : settings().layer; }
  /// Values of part `index` of the batch are called "mb<index>.…"; 0 has no prefix.
  void set_micro_batch(int index) { micro_batch_ = index; }
  int micro_batch() const { return micro_batch_; }
  /// `value` with the prefixes of its part of the batch and its layer.
  std::string scoped(const std::string& value) const;
  /// `value` with the prefix of its layer: the same for every part of the batch.
  std::string in_layer(const std::string& value) const;

  /// Plays the tape: the backward steps of everything emitted so far. Forward steps may follow.
  void play_backward();
  void begin_update() { phase_ = Phase::Update; }

  /// Seeds `y` with the gradient `dy`, plays the tape and keeps y and the gradient of x.
  void finish(TensorId x, TensorId y, TensorId dy);
  /// The Program so far, with the tensors to keep; the builder is spent.
  Program take() { return std::move(program_); }
  void keep(TensorId id) { program_.tensors[static_cast<size_t>(id)].keep = true; }
  /// For passes over what has been written.
  Program& program() { return program_; }
  /// The parameters in the order of their first use, and the newest gradient of each.
  const std::vector<TensorId>& weights() const { return weights_; }
  bool has_gradient(TensorId weight) const { return weight_gradients_.count(weight) > 0; }
  TensorId newest_gradient(TensorId weight) const { return weight_gradients_.at(weight).back(); }

 private:
  struct TapeEntry {
    std::function<void()> emit;
    std::string block;
    int layer;
  };

  /// A tensor of the run's dtype, Replicated until it is said otherwise; add() names it after its value.
  Tensor blank(const std::string& value, const std::string& symbol, const Shape& shape,
               MemoryKind kind) const;
  TensorId add(Tensor tensor);
  TensorId emit_conversion(TensorId x, Layout to, Conjugate mark);
  TensorId add_step(Op op, const std::string& name, const std::string& equation, std::vector<TensorId> inputs,
                    std::vector<TensorId> outputs, const Attributes& attributes);
  void play_from(size_t mark);
  /// One tensor, in the layout of the contributions where they share one.
  TensorId sum_of_contributions(TensorId of);
  /// The same of some of them.
  TensorId sum_of(TensorId of, std::vector<TensorId> parts);

  Program program_;
  Phase phase_ = Phase::Forward;
  std::string block_;
  int layer_ = -1;
  int micro_batch_ = 0;
  bool again_ = false;  ///< forward steps are being emitted a second time
  std::unordered_set<std::string> names_, values_;
  std::vector<TensorId> weights_;
  std::map<std::string, TensorId> weight_by_name_;
  std::map<TensorId, std::vector<TensorId>> weight_gradients_;
  std::vector<TapeEntry> tape_;
  std::map<TensorId, std::vector<std::function<void()>>> postponed_;
  std::map<TensorId, std::vector<TensorId>> contributions_;
  std::map<TensorId, TensorId>
      token_slice_;  ///< what a tensor was gathered from, if that was cut over tokens
};

}  // namespace shardlens
