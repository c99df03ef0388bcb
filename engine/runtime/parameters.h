// Where a parameter of a Program lies in a checkpoint under Hugging Face's names. GPT-2 stores its matrices
// [in, out], as the Program does, and query, key and value as one, also where grouped queries have them
// apart; BERT stores [out, in] and keeps query, key and value apart. The padding of the vocabulary is in no
// checkpoint.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/program/program.h"

namespace shardlens {

/// One stored tensor and the rectangle of the parameter's full matrix it fills (matrix_shape()). Parameters
/// may be columns of the same stored tensor: their parts then have the same name and shape.
struct StoredPart {
  std::string name;
  Shape shape;              ///< as stored: [rows, cols], [cols, rows] when transposed, [cols] for a vector
  bool transposed = false;  ///< stored [cols, rows]
  Range rows, cols;         ///< of the full matrix; what no part covers is padding and holds zeros
  int64_t stored_col = 0;   ///< the stored column where this part begins
};

/// The parts of a Weight of a Program planned from `settings`, in the order of their columns.
std::vector<StoredPart> stored_parts(const Settings& settings, const Tensor& weight);

/// Puts the elements of `part`, taken from the whole parameter (row-major, `element_bytes` an element), into
/// their place in the stored tensor, which has part.shape.
void take_part(const Tensor& weight, const StoredPart& part, const std::byte* whole, int64_t element_bytes,
               std::byte* stored);

/// The reverse: puts a part of the stored tensor into its place in the whole parameter.
void put_part(const Tensor& weight, const StoredPart& part, const std::byte* stored, int64_t element_bytes,
              std::byte* whole);

}  // namespace shardlens
