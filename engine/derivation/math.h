// A mathematical expression as a small tree: matrices of a Program with sub- and superscripts, products,
// sums over ranks, block matrices. It is plain data: the studio draws it, and it can be written as text and
// as LaTeX. A part that every rank has is written once, for "rank r"; expanded() writes it out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/program/program.h"

namespace shardlens {

/// A number of rows or columns: those of a tensor seen as a matrix, or a fixed number.
struct Extent {
  TensorId tensor = kNoTensor;
  bool rows = true;   ///< the tensor's rows; else its columns
  int64_t fixed = 1;  ///< if there is no tensor
  bool operator==(const Extent&) const = default;
};

enum class MathKind {
  Symbol,     ///< a matrix, a vector or a number with a name
  Number,     ///< "1"
  Words,      ///< "rank 0"
  Product,    ///< A · B, a product of matrices; a factor may be a number
  Entrywise,  ///< A ∘ B, element by element
  Sum,        ///< A + B − C
  Quotient,   ///< A / B, element by element
  Function,   ///< GeLU(A), element by element
  Picked,     ///< A[B]: the rows of A with the numbers in B
  Blocks,     ///< a matrix made of blocks, in a row or in a column
  RankSum,    ///< a sum over ranks, or the largest over ranks
  Reduction,  ///< a sum over rows or columns, or the largest of them
};

/// What a reduction goes over.
enum class Over {
  Columns,  ///< one column is left
  Rows,     ///< one row is left
  All,      ///< one number is left
  List,     ///< matrices of the same shape
};

/// What a symbol stands for.
enum class Held {
  Whole,    ///< the full matrix
  Block,    ///< a rank's slice, written with a subscript
  Term,     ///< a rank's term of a sum, written with a superscript
  Replica,  ///< a replica's term of the sum over the replicas, written with a superscript
};

/// Math::rank of a part that stands for every rank.
inline constexpr int kEachRank = -1;

struct Math {
  MathKind kind = MathKind::Words;
  std::string text;         ///< a symbol's name, a number, words, a function, what a reduction goes over
  std::vector<Math> parts;  ///< of Blocks and RankSum: one part for every rank, or all parts if `count` is 0

  // A symbol
  Extent rows, cols;      ///< of the full matrix
  bool turned = false;    ///< transposed; the extents are those before
  bool gradient = false;  ///< written ∂L/∂ and the name
  Held held = Held::Whole;
  int rank = kEachRank;         ///< of a block or a term: of replicas, the replica
  int copies = 1;               ///< so many neighbouring ranks hold the same block
  TensorId tensor = kNoTensor;  ///< the tensor of the Program that it is

  std::vector<bool> minus;    ///< Sum: the parts that are subtracted
  bool column = false;        ///< Blocks: one below the other
  int count = 0;              ///< Blocks, RankSum: so many blocks or terms
  int step = 1;               ///< from one block to the next, so many ranks
  int first = 0;              ///< RankSum: the first rank; kEachRank: of the rank around it
  int only = kEachRank;       ///< Blocks: only this rank's block is there, the others are empty
  bool written_out = false;   ///< RankSum: as A + B + C, not with a Σ
  bool largest = false;       ///< RankSum, Reduction: the largest, not the sum
  Over over = Over::Columns;  ///< Reduction
  bool slanted = false;       ///< Quotient: a / b in one line
  std::string power;          ///< Symbol: "2" for a square
  bool operator==(const Math&) const = default;
};

enum class Relation { None, Equal, NotEqual, Becomes, Assign };

/// The blocks or terms that are written of a Blocks or RankSum: all up to four, else the first and the last
/// with dots (-1) between them.
std::vector<int> shown_parts(const Math& many);
/// True if this block is one of the empty ones.
bool is_empty_block(const Math& many, int at);

/// The part of a Blocks or RankSum with number `at`, for its own rank.
Math part_at(const Math& many, int at);
/// The same expression with every rank-r symbol standing for `rank`.
Math for_rank(Math expression, int rank);

/// True if a part must stand in brackets inside its parent.
bool needs_brackets(const Math& parent, size_t place);

/// A name as it is written: "dWqkv" is d, W with the subscript qkv; "H'" has a prime.
struct NameParts {
  bool d = false;    ///< a gradient
  std::string base;  ///< "W", "QKV"
  std::string sub;   ///< "qkv"
  int primes = 0;
  bool hat = false;        ///< a combining circumflex after the base: "x̂"
  bool upright = false;    ///< a word, such as "pos"
  bool bracketed = false;  ///< rounded to an integer: "[X]"
  bool d_outside = false;  ///< a gradient of that: "d[X]"
  bool compound = false;   ///< several numbers: "μ, 1/σ"
};
NameParts name_parts(const std::string& name);

/// The subscript of a symbol: its name's and its rank's, "qkv,0"; and the superscript: a transposed one's T,
/// a term's rank, a square.
std::string subscript_of(const Math& symbol);
std::string superscript_of(const Math& symbol);

/// The number of rows and columns of a symbol on a rank, without padding.
MatrixShape shape_of(const Program& program, const Math& symbol, int rank);

/// One line of plain text: "Z = [G₀ G₁] · [W₀; W₁]".
std::string to_text(const Math& expression);
std::string to_text(Relation relation);
/// LaTeX for math mode, in ASCII.
std::string to_latex(const Math& expression);
std::string to_latex(Relation relation);
/// LaTeX for text mode, in ASCII: "$\times$" for ×, and special characters escaped.
std::string latex_words(const std::string& words);

}  // namespace shardlens
