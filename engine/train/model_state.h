// What a model consists of while it stands in the ranks' memory: its parameters, and what the optimizer keeps
// beside each. Read and written whole, whatever T; all replicas hold the same.
#pragma once

#include <string>
#include <vector>

#include "engine/runtime/executor.h"

namespace shardlens {

/// The tensors a pass finds as the last one left them: weights and the optimizer's state.
std::vector<TensorId> lasting_tensors(const Program& program);

/// A tensor put together from the ranks of the first replica, row-major. Call while the executor is idle.
std::vector<std::byte> read_whole(const Executor& executor, const Program& program, TensorId tensor);

/// Gives every rank its slice of a whole tensor.
void write_whole(Executor& executor, const Program& program, TensorId tensor,
                 const std::vector<std::byte>& whole);

/// Copies every parameter from one executor's ranks to another's, by name. Both run the same model on the
/// same T, and `to` on no more replicas than `from`.
void copy_weights(const Executor& from, const Program& from_program, Executor& to, const Program& to_program);

/// Throws a run Error that names tensor and element unless all of `bytes` are finite numbers of `dtype`.
void require_finite(const std::string& name, DType dtype, const std::vector<std::byte>& bytes);

/// The first `count` elements of `bytes`, whatever their dtype.
void elements_of(DType dtype, const std::byte* bytes, size_t count, double* to);
/// Element `index` of `bytes`, likewise.
double element_of(DType dtype, const std::byte* bytes, size_t index);

/// Element `index` of a small tensor that every rank holds, as rank `rank` has it (numbered as
/// Executor::read_tensor() does).
double read_scalar(const Executor& executor, const Program& program, TensorId tensor, size_t index = 0,
                   int rank = 0);

}  // namespace shardlens
