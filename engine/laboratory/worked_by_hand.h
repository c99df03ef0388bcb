// One number of the example "by hand", written out: each rank's sum, the sum over the ranks, and why an
// operation may or may not act on a term of it. Every number is taken from the run.
#pragma once

#include <string>
#include <vector>

#include "engine/laboratory/by_hand.h"

namespace shardlens::lab {

/// "3", "−2", "0.84": an integer without decimals, others rounded to two.
std::string hand_text(double value);

struct WorkedLine {
  int rank = -1;          ///< -1: of the ranks together, or of the one rank
  std::string words;      ///< "rank 0", "summed", "then both", "T = 1"
  std::string sum;        ///< "1·2 + 0·1 + 3·(−1) + 2·2 = 3"
  bool is_wrong = false;  ///< its result is not what one rank has
  double wrong_by = 0;    ///< what it has more than one rank
};

/// One operation, done to every term and then summed, beside the operation done to the sum.
struct WorkedTerms {
  std::string question;  ///< "GeLU of each term, or GeLU of the sum?"
  std::string of_terms;  ///< "GeLU(3) + GeLU(−1) = 2.84"
  std::string of_sum;    ///< "GeLU(3 − 1) = 1.95"
  bool is_same = false;
  std::string because;  ///< one sentence
};

/// A number that a rank used.
struct HandRead {
  TensorId tensor = kNoTensor;
  int rank = 0;
  int64_t row = 0, col = 0;
};

struct Worked {
  std::string title;              ///< "H, row 0, column 2"
  std::string equation;           ///< of the step
  std::vector<WorkedLine> lines;  ///< in the order in which a person reads them
  std::vector<HandRead> reads;
  std::vector<WorkedTerms> terms;  ///< empty: the number does not belong to a sum over the ranks
};

/// A step's equation, also of a collective that a mistake has moved to another tensor.
std::string equation_of(const Program& program, const Step& step);

/// Works out the number at (row, col) of a tensor that `step` writes.
Worked work_out(const HandRun& run, StepId step, TensorId tensor, int64_t row, int64_t col);

/// The comparisons of Worked::terms (terms_by_hand.cpp).
std::vector<WorkedTerms> compare_terms(const HandRun& run, TensorId tensor, int64_t row, int64_t col);

/// "1.5 − 2 + 3" of numbers, and "≈" or "=": whether hand_text() shows all of them exactly.
std::string added_up(const std::vector<double>& terms);
std::string equals(const std::vector<double>& shown);
/// "(−1)": as a factor or as GeLU's operand a negative number stands in brackets.
std::string in_brackets(double value);

}  // namespace shardlens::lab
