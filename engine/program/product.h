// A matrix product C = A·B, element by element: which row of A and which column of B make an element of C,
// and which of their pairs each rank multiplies. The studio shows one number of a product from these facts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/program/program.h"

namespace shardlens {

/// Each factor is a tensor seen as a matrix; a `turned` one is transposed before.
struct Product {
  StepId step = -1;
  TensorId a = kNoTensor, b = kNoTensor, out = kNoTensor;
  bool a_turned = false, b_turned = false;
  TensorId bias = kNoTensor;  ///< added in the same step
  bool is_added = false;      ///< added to what earlier parts of the batch left in C
  bool is_bent = false;       ///< C is A·B ∘ GeLU'(H): the step does both

  bool operator==(const Product&) const = default;
};

/// Returns the product of a step; nothing if the step is none. If the step also applies GeLU, C is GeLU's
/// input.
std::optional<Product> product_of(const Program& program, StepId step);

/// How many pairs make one element.
int64_t product_terms(const Program& program, const Product& product);

/// How the sum over the pairs is divided.
enum class SumCut {
  None,   ///< every rank makes the same numbers
  Terms,  ///< cut between the pairs: each rank makes a term of every number
  Whole,  ///< cut between the numbers: one rank makes all of a number
};
/// As the Program runs it.
SumCut sum_cut(const Program& program, const Product& product);

/// The ranges of pairs, in order, that a rank multiplies for element (row, col) of C; empty: it makes no part
/// of that element.
std::vector<Range> pairs_of(const Program& program, const Product& product, int rank, int64_t row,
                            int64_t col);
/// The same if the product were cut in another way over the same ranks.
std::vector<Range> pairs_if_cut(const Program& program, const Product& product, SumCut cut, int rank,
                                int64_t row, int64_t col);

/// The conversion that adds the terms of a Partial C, or sends a Sharded C to the other ranks; -1: the next
/// step takes C as it is.
StepId conversion_after(const Program& program, TensorId out);

/// The first step after `tensor` that does more than convert, add and drop; -1: there is none.
StepId next_bend(const Program& program, TensorId tensor);

}  // namespace shardlens
