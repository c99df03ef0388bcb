// The Builder, with which the planner's modules write a Program. It has tensors, steps, the one function that
// inserts collectives, and a tape. A module emits its forward steps and leaves a closure on the tape that
// emits its backward steps. The tape is played in reverse at the end. So gradients, f and g follow from the
// layouts alone.
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
  int tp() const { return program_.tp(); }
  const Tensor& tensor(TensorId id) const { return program_.tensor(id); }

  /// The dtype of sums and statistics: the run's dtype, but fp32 if that is only 16 bits wide.
  DType wide() const { return settings().dtype == DType::Fp64 ? DType::Fp64 : DType::Fp32; }

  /// A tensor that is fed before the first step: X, or the gradient that arrives from the next layer.
  TensorId input(Role role, const std::string& name, const std::string& symbol, const Shape& shape,
                 Layout layout = kReplicated);
  TensorId input(Role role, const std::string& name, const std::string& symbol, const Shape& shape,
                 DType dtype);
  /// A parameter. Returns the same tensor for the same name. With one rank every layout is Replicated.
  TensorId weight(Role role, const std::string& name, const std::string& symbol, const Shape& shape,
                  int row_dims, Layout layout);
  /// An output of the step that is added next.
  TensorId activation(const std::string& value, const std::string& symbol, const Shape& shape, Layout layout);
  TensorId activation(const std::string& value, const std::string& symbol, const Shape& shape, Layout layout,
                      DType dtype);
  /// The gradient of `of`, in `layout`: it has the shape of `of`, and its symbol is that of `of` after the
  /// letter d.
  TensorId gradient_tensor(TensorId of, Layout layout);
  /// A gradient_tensor() in the layout of `of`. It overwrites the bytes of `of` unless `of` is kept: the last
  /// reader of `of` writes it, element by element.
  TensorId gradient_over(TensorId of);
  TensorId workspace(const std::string& name, const Shape& shape);
  /// The gradient of a parameter, which the step that is added next writes. If an earlier step wrote a
  /// gradient of it (a tied matrix, an earlier part of the batch), the new one shares its bytes and adds to
  /// it: `inputs` gets the earlier gradient, and `attributes` is set to accumulate. If the step sees only the
  /// rank's own tokens, its gradient of a whole parameter is Partial (`activations` is the layout of what the
  /// step reads); reduce_over_ranks() sums it.
  TensorId weight_gradient(TensorId weight, std::vector<TensorId>& inputs, Attributes& attributes,
                           Layout activations = kReplicated);
  /// A tensor that the optimizer keeps for a parameter, in the parameter's layout.
  TensorId optimizer_state(Role role, const std::string& name, const std::string& symbol, TensorId weight);
  /// A tensor of the run's dtype that keeps its content between passes. Steps write it in place.
  TensorId cache(const std::string& value, const std::string& symbol, const Shape& shape, Layout layout);
  /// `of` after the step that is added next has changed it, in the same bytes.
  TensorId in_place(TensorId of, const std::string& value);
  /// The sum of `of` over the replicas, in the same bytes. The sum gets the name that `of` had.
  TensorId sum_over_replicas(TensorId of);
  /// The sum of the Partial `of` over the ranks, in the same bytes.
  TensorId sum_over_ranks(TensorId of);
  /// Makes `gradient` the newest gradient of `weight`.
  void supersede_gradient(TensorId weight, TensorId gradient) {
    weight_gradients_[weight].push_back(gradient);
  }
  /// Emits steps whose contributions to the gradient of `x` are summed first, before other contributions are
  /// added. So the order of the sum does not depend on a conversion of x in between, and not on T.
  void summed_apart(TensorId x, const std::function<void()>& emit);
  /// Says what a tensor is, before others are made from it.
  void set_role(TensorId id, Role role) { program_.tensors[static_cast<size_t>(id)].role = role; }
  /// Gives a tensor another name.
  void rename(TensorId id, const std::string& name);

  /// Adds a step to the current phase and part; returns its first output.
  TensorId step(Op op, const std::string& name, const std::string& equation, std::vector<TensorId> inputs,
                std::vector<TensorId> outputs, const Attributes& attributes = {});

  /// `x` in layout `to`, through the one collective that the algebra gives, with its conjugate on the tape.
  /// `mark` writes the paper's letter on both halves. With a mark, the step is emitted even if it is the
  /// identity.
  TensorId convert(TensorId x, Layout to, Conjugate mark = Conjugate::None);
  /// In the backward pass: `x` for a step that needs it whole. If the forward pass gathered x from a cut over
  /// the tokens, x is gathered again, so that a rank keeps only its own tokens in between (sequence
  /// parallelism).
  TensorId whole_again(TensorId x);

  /// With integer operands: `x` rounded to small integers, so that products sum exactly. Otherwise `x`
  /// itself. The gradient passes through unchanged.
  TensorId operand(TensorId x);

  /// Registers `emit`, which emits backward steps when the tape is played.
  void on_backward(std::function<void()> emit) { tape_.push_back({std::move(emit), part_, layer_}); }
  /// `forward(x)`, without keeping its activations: the backward pass emits it again from x before its
  /// gradients (activation checkpointing). So `forward` is called twice.
  TensorId recomputed(TensorId x, const std::function<TensorId(TensorId)>& forward);
  /// The gradient of `of`, all contributions summed, in gradient_layout(of.layout).
  TensorId gradient(TensorId of);
  /// For a matrix that is used twice. Delays the backward steps of its last use: they are emitted right
  /// before those of its first use, which calls emit_postponed().
  void postpone(TensorId weight, std::function<void()> emit) {
    postponed_[weight].push_back(std::move(emit));
  }
  void emit_postponed(TensorId weight);
  void add_gradient(TensorId of, TensorId gradient) { contributions_[of].push_back(gradient); }

  void set_part(Part part) { part_ = part; }

  /// Enters layer `index` of a whole model: its values are called "h.<index>.…". -1 leaves the layers.
  void set_layer(int64_t index) { layer_ = static_cast<int>(index); }
  /// The layer that parameters belong to: the one that is set, otherwise the one in the settings.
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
  /// The Program so far, with the tensors to keep. Do not use the builder afterwards.
  Program take() { return std::move(program_); }
  void keep(TensorId id) { program_.tensors[static_cast<size_t>(id)].keep = true; }
  /// For passes over the tensors and steps that have been emitted.
  Program& program() { return program_; }
  /// The parameters in the order of their first use, and the newest gradient of each.
  const std::vector<TensorId>& weights() const { return weights_; }
  bool has_gradient(TensorId weight) const { return weight_gradients_.count(weight) > 0; }
  TensorId newest_gradient(TensorId weight) const { return weight_gradients_.at(weight).back(); }

 private:
  struct TapeEntry {
    std::function<void()> emit;
    Part part;
    int layer;
  };

  /// A tensor of the run's dtype, Replicated by default. add() names it after its value.
  Tensor blank(const std::string& value, const std::string& symbol, const Shape& shape,
               MemoryKind kind) const;
  TensorId add(Tensor tensor);
  TensorId emit_conversion(TensorId x, Layout to, Conjugate mark);
  TensorId add_step(Op op, const std::string& name, const std::string& equation, std::vector<TensorId> inputs,
                    std::vector<TensorId> outputs, const Attributes& attributes);
  void play_from(size_t mark);
  /// The sum of all contributions to the gradient of `of` as one tensor. It has the layout of the
  /// contributions if they all have the same one.
  TensorId sum_of_contributions(TensorId of);
  /// The sum of some of the contributions, in the same way.
  TensorId sum_of(TensorId of, std::vector<TensorId> parts);

  Program program_;
  Phase phase_ = Phase::Forward;
  Part part_ = Part::None;
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
      token_slice_;  ///< the tensor that a tensor was gathered from, if that was cut over tokens
};

}  // namespace shardlens
