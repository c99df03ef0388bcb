// What the planner's modules write a Program with: tensors, steps, the one function that inserts collectives,
// and a tape. A module emits its forward steps and leaves a closure that emits its backward steps; the tape
// is played in reverse at the end, so gradients, f and g come out of the layouts alone.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/program/program.h"

namespace shardlens {

class Builder {
 public:
  explicit Builder(const Settings& settings);

  const Settings& settings() const { return program_.settings; }
  int ranks() const { return program_.ranks(); }
  const Tensor& tensor(TensorId id) const { return program_.tensor(id); }

  /// A tensor someone feeds before the first step: X, or the gradient that arrives from the next layer.
  TensorId input(const std::string& name, const std::string& symbol, const Shape& shape);
  /// A parameter. With one rank every layout is Replicated.
  TensorId weight(const std::string& name, const std::string& symbol, const Shape& shape, int row_dims,
                  Layout layout);
  /// The output of a step about to be added.
  TensorId activation(const std::string& value, const std::string& symbol, const Shape& shape, Layout layout);
  /// The gradient of `of`, in `layout`: its shape and the letter d before its symbol.
  TensorId gradient_tensor(TensorId of, Layout layout);
  TensorId workspace(const std::string& name, const Shape& shape);

  /// Adds a step to the current phase and block; returns its first output.
  TensorId step(Op op, const std::string& name, const std::string& equation, std::vector<TensorId> inputs,
                std::vector<TensorId> outputs, const Attributes& attributes = {});

  /// `x` in layout `to`, by the one collective the algebra names, with its conjugate on the tape. `mark`
  /// writes the paper's letter on both halves; with a mark the step is written also where it is the identity.
  TensorId convert(TensorId x, Layout to, Conjugate mark = Conjugate::None);

  /// Integer operands: `x` rounded to small integers, so that products sum exactly; `x` itself otherwise. The
  /// gradient passes straight through.
  TensorId operand(TensorId x);

  /// Emits backward steps when the tape is played.
  void on_backward(std::function<void()> emit) { tape_.push_back({std::move(emit), block_}); }
  /// The gradient of `of`, all contributions summed, in gradient_layout(of.layout).
  TensorId gradient(TensorId of);
  void add_gradient(TensorId of, TensorId gradient) { contributions_[of].push_back(gradient); }

  void set_block(const std::string& block) { block_ = block; }
  const std::string& block() const { return block_; }

  /// Seeds `y` with the gradient `dy`, plays the tape and keeps y and the gradient of x. The builder is
  /// spent.
  Program finish(TensorId x, TensorId y, TensorId dy);

 private:
  struct TapeEntry {
    std::function<void()> emit;
    std::string block;
  };

  /// A tensor of the run's dtype, Replicated until it is said otherwise; add() names it after its value.
  Tensor blank(const std::string& value, const std::string& symbol, const Shape& shape,
               MemoryKind kind) const;
  TensorId add(Tensor tensor);
  TensorId emit_conversion(TensorId x, Layout to, Conjugate mark);

  Program program_;
  Phase phase_ = Phase::Forward;
  std::string block_;
  std::vector<TapeEntry> tape_;
  std::map<TensorId, std::vector<TensorId>> contributions_;
};

}  // namespace shardlens
