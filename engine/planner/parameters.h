// The parameters of a model: where each of a Program's is in a checkpoint with Hugging Face's names, and how
// many numbers they hold together. GPT-2 stores its matrices as
// [in, out], like the Program; it stores query, key and value as one matrix, also if the Program has them
// apart for grouped queries. BERT stores [out, in] and keeps query, key and value apart. No checkpoint holds
// the padding of the vocabulary.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/program/program.h"

namespace shardlens {

/// The two names of the bias of BERT's output matrix. transformers ties them like the matrix and the
/// embedding; if they are not tied, it adds the decoder's.
inline constexpr const char* kHeadBias = "cls.predictions.bias";
inline constexpr const char* kDecoderBias = "cls.predictions.decoder.bias";

/// One stored tensor and the rectangle that it fills of the parameter's full matrix (matrix_shape()). Several
/// parameters may be columns of the same stored tensor: their parts then have the same name and shape.
struct StoredPart {
  std::string name;
  Shape shape;              ///< as stored: [rows, cols], [cols, rows] when transposed, [cols] for a vector
  bool transposed = false;  ///< stored [cols, rows]
  Range rows, cols;         ///< of the full matrix; the rest is padding and holds zeros
  int64_t stored_col = 0;   ///< the stored column at which this part begins
};

/// Returns the parts of a weight of a Program that was planned from `settings`, in the order of their
/// columns.
std::vector<StoredPart> stored_parts(const Settings& settings, const Tensor& weight);
/// The same, also of what the optimizer keeps: it is cut into the parts of its parameter.
std::vector<StoredPart> stored_parts(const Program& program, const Tensor& lasting);

/// How many numbers the parameters of a valid model hold, counted from the weights of its Program:
/// 124,439,808 for gpt2. Each stored number counts once: an output matrix counts if it is not tied to the
/// embedding, and the padding of the vocabulary does not. Plans one layer, which takes tens of microseconds.
int64_t parameter_count(const Model& model);

/// The second name under which a whole parameter is stored once more, because transformers asks for both: the
/// bias of BERT's output matrix if that is not tied. Empty for all others.
std::string second_name(const Settings& settings, const std::string& name);

/// Copies the elements of `part` from the whole parameter (row-major, `element_bytes` for each element) into
/// their place in the stored tensor, which has part.shape.
void take_part(const Tensor& weight, const StoredPart& part, const std::byte* whole, int64_t element_bytes,
               std::byte* stored);

/// The reverse: copies a part of the stored tensor into its place in the whole parameter.
void put_part(const Tensor& weight, const StoredPart& part, const std::byte* stored, int64_t element_bytes,
              std::byte* whole);

}  // namespace shardlens
