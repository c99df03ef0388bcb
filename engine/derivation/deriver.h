// What writes a derivation: symbols of a step's tensors, the same expression for one rank and for all ranks,
// and lines. The derivations of the operations are written with it.
#pragma once

#include <string>
#include <vector>

#include "engine/derivation/derivation.h"
#include "engine/derivation/expressions.h"

namespace shardlens::formulas {

class Deriver {
 public:
  Deriver(const Program& program, const Step& step) : program_(program), step_(step) {}

  const Program& program() const { return program_; }
  const Step& step() const { return step_; }
  const Tensor& tensor(TensorId id) const { return program_.tensor(id); }
  int ranks() const { return program_.tp(); }
  TensorId in(Operand operand) const { return input_of(program_, step_, operand); }
  TensorId out(Operand operand) const { return output_of(program_, step_, operand); }
  bool has(Operand operand) const { return in(operand) != kNoTensor; }

  /// The full matrix of a tensor.
  Math whole(TensorId id) const;
  /// The same by another name, such as x̂ for the normalized X.
  Math named(const std::string& name, TensorId like) const;
  static Math named(const std::string& name, Extent rows, Extent cols);
  /// dX as ∂L/∂X.
  Math derivative(TensorId gradient) const;
  /// The gradient `dy` as the derivative by the tensor `of`, whose name it need not have: a sum passes the
  /// gradient of its result on to its terms.
  Math derivative(TensorId dy, const std::string& of) const;
  /// Says so if the names differ: "dY is ∂L/∂Z: sums pass it on"; else empty.
  std::string passed_on(TensorId dy, const std::string& of) const;
  /// The first forward step of this operation that reads `id` as `operand`; null if there is none.
  const Step* forward_step(Op op, Operand operand, TensorId id) const;
  /// The name of what a gradient is the gradient of: "X" for dX.
  std::string without_d(TensorId gradient) const;

  /// `expression` for rank r: its slices and terms in place of the full matrices.
  Math for_each_rank(Math expression) const;
  /// Every full matrix as the blocks, or the sum of terms, that the ranks hold of it.
  Math in_parts(const Math& expression) const;
  /// `each` (an expression for rank r) as the ranks' parts of `whole`, a symbol.
  Math parts_of(const Math& whole, Math each) const;
  Math rank_sum(Math each) const;  ///< Σ over the ranks
  /// The parts of `whole` with only one rank's block there; that rank's term if they are terms.
  Math only_part_of(const Math& whole, int rank) const;
  bool is_cut(const Math& whole) const;  ///< parts_of() has more than one part
  bool is_terms(const Math& whole) const;

  void line(Math left, Math right, std::string remark = "", Relation relation = Relation::Equal);
  void next(Math right, std::string remark = "", Relation relation = Relation::Equal);

  /// The remarks beside the lines that write an equation for the ranks.
  struct Remarks {
    std::string first = {};                ///< beside the equation itself
    std::string parts = {};                ///< beside the blocks and terms of what is read
    std::string each = {};                 ///< beside what each rank computes
    Relation relation = Relation::Equal;   ///< of the equation
    bool writes_terms = false;             ///< a sum over the ranks is also written as a + b + c
    Relation for_ranks = Relation::Equal;  ///< NotEqual: it may not be done on the ranks' parts
  };
  /// left = right, then the same in the ranks' parts: as blocks or terms of `left`, if the ranks hold it so.
  void with_ranks(const Math& left, const Math& right, const Remarks& remarks);
  /// The lines of with_ranks() after its first one.
  void ranks_of(const Math& left, const Math& right, const Remarks& remarks);
  /// "the same on every rank" after `remark`, if there are several ranks and `left` is not cut.
  std::string same_if_whole(const Math& left, const std::string& remark) const;

  /// "64×3072 · 3072×768 = 64×768" of the full matrices.
  std::string sizes(const Math& result, const std::vector<Math>& factors) const;
  /// The same for a rank's parts; it begins with "rank 0: " if the ranks differ.
  std::string rank_sizes(const Math& result, const std::vector<Math>& factors) const;
  /// "64×768", of a full matrix.
  std::string size(const Math& symbol) const;

  std::vector<DerivationLine> take() { return std::move(lines_); }

 private:
  const Program& program_;
  const Step& step_;
  std::vector<DerivationLine> lines_;
};

// The derivations, by kind of operation.
void derive_product(Deriver& d);
void derive_bias_gradient(Deriver& d, const Math& of);  ///< db, if the step also writes it
void derive_bias(Deriver& d);
void derive_entrywise(Deriver& d);
void derive_norm(Deriver& d);
void derive_attention(Deriver& d);
void derive_rows(Deriver& d);
void derive_loss(Deriver& d);
void derive_update(Deriver& d);
void derive_conversion(Deriver& d);

/// The terms that were summed to make `tensor`, through biases and sums that could be done on the terms;
/// kNoTensor: it was not made of terms.
TensorId terms_before(const Program& program, TensorId tensor);

}  // namespace shardlens::formulas
