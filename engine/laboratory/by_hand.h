// The example "by hand": one MLP block on two ranks, with matrices of 4 × 4 whose integers a person types.
// It is a Program like any other: the planner cuts it, the executor runs it in fp64 on two ranks and on one,
// and this file keeps every number that a rank held. A mistake is planted as in "Break it".
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/program/fault.h"

namespace shardlens {
struct Plan;  // engine/runtime/snapshot.h
}

namespace shardlens::lab {

/// Tokens, hidden and ffn; the number of ranks; the largest number that can be typed.
inline constexpr int64_t kHandSize = 4;
inline constexpr int kHandRanks = 2;
inline constexpr int kHandLimit = 9;

/// What a person types, in the order of the page. The biases have one row.
enum class HandOperand { X, Wfc, FcBias, Wproj, ProjBias, Dy };
inline constexpr size_t kHandOperands = 6;

struct HandOperands {
  std::array<std::array<int, kHandSize * kHandSize>, kHandOperands> values{};

  int& at(HandOperand operand, int64_t row, int64_t col) {
    return values[static_cast<size_t>(operand)][static_cast<size_t>(row * kHandSize + col)];
  }
  int at(HandOperand operand, int64_t row, int64_t col) const {
    return const_cast<HandOperands*>(this)->at(operand, row, col);
  }
  bool operator==(const HandOperands&) const = default;
};
int64_t rows_of(HandOperand operand);
/// "X", "Wfc", "b of Wfc", "dY"
std::string to_string(HandOperand operand);
/// The name of its tensor in the Program: "X", "transformer.h.0.mlp.c_fc.weight".
std::string tensor_name(HandOperand operand);
TensorId tensor_of(const Program& program, HandOperand operand);

/// Numbers to begin with.
enum class HandNumbers {
  Chosen,    ///< small ones in which every mistake shows
  Identity,  ///< matrices of ones on the diagonal, biases 0
  Ones,      ///< 1 everywhere
  Random,    ///< from −3 to 3, drawn from a seed
};
HandOperands hand_operands(HandNumbers numbers, uint64_t seed = 1);

/// Puts one number or rows of numbers, as a spreadsheet copies them, at (row, col) of an operand. Numbers are
/// separated by spaces, tabs, commas or semicolons, rows by new lines. Throws a request Error that names the
/// text that is no whole number from −9 to 9, or the row or column for which there is no place; the operands
/// then stay as they were.
void type_into(HandOperands& operands, HandOperand operand, int64_t row, int64_t col, std::string_view text);

/// The matrix as type_into() reads it: numbers with tabs between them, a line for each row.
std::string typed_text(const HandOperands& operands, HandOperand operand);

/// How the Program is cut and changed.
struct HandChoice {
  Cut fc = Cut::Column;
  Cut proj = Cut::Row;
  NormCut stream = NormCut::Replicated;
  bool gelu = true;  ///< false: G is H, so every number is an integer
  std::optional<Fault> mistake = {};
  bool operator==(const HandChoice&) const = default;
};

/// Everything that a person sets.
struct HandForm {
  HandOperands operands = hand_operands(HandNumbers::Chosen);
  HandChoice choice;
  bool operator==(const HandForm&) const = default;
};

/// The mistakes that this example can have, with some cuts.
std::span<const Fault> hand_mistakes();
/// The Program of a choice. Throws a request Error if the mistake is not possible with these cuts.
Program hand_program(const HandChoice& choice);
/// True if the Program of a choice has the place where `mistake` is planted.
bool can_have(HandChoice choice, Fault mistake);

/// What one rank holds of a tensor.
struct HandPiece {
  MatrixShape shape;              ///< the rank's own
  std::vector<double> values;     ///< row-major; empty: the rank never held the tensor
  std::vector<Placement> places;  ///< in the full matrix

  /// Its number at a place of the full matrix; nothing if another rank holds that place.
  std::optional<double> at(int64_t row, int64_t col) const;
};

struct HandTensor {
  std::array<HandPiece, kHandRanks> ranks;
  std::vector<double> serial;  ///< the full matrix on one rank, row-major
};

/// One run: everything that the two ranks and the one rank held.
struct HandRun {
  std::shared_ptr<const Plan> plan;
  HandOperands operands;
  HandChoice choice;
  std::vector<HandTensor> tensors;  ///< by TensorId

  const Program& program() const;
  const HandTensor& of(TensorId tensor) const { return tensors[static_cast<size_t>(tensor)]; }
  /// The number that one rank computes at a place.
  double serial(TensorId tensor, int64_t row, int64_t col) const;
  /// The sum of the terms of a Partial; else what `rank` holds.
  std::optional<double> value(TensorId tensor, int rank, int64_t row, int64_t col) const;
  /// True if value() is not the number of one rank.
  bool is_wrong(TensorId tensor, int rank, int64_t row, int64_t col) const;
  bool is_wrong(TensorId tensor) const;  ///< at any place on any rank
  StepId first_wrong() const;            ///< the first step that writes a wrong tensor; -1: there is none
};

/// Runs the example on two ranks and on one. It takes some milliseconds; any thread. Throws a request Error
/// if the mistake is not possible.
std::shared_ptr<const HandRun> run_by_hand(const HandOperands& operands, const HandChoice& choice);

}  // namespace shardlens::lab
