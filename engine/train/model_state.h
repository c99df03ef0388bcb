// Reads and writes the tensors of a model in the ranks' memory: its parameters, and the optimizer's state of
// each. They are read and written as whole tensors, for any T. All replicas hold the same values.
#pragma once

#include <string>
#include <vector>

#include "engine/runtime/executor.h"

namespace shardlens {

/// The tensors that keep their values between passes: weights and the optimizer's state.
std::vector<TensorId> lasting_tensors(const Program& program);

/// Reads a whole tensor from the ranks of the first replica, row-major. Call while the executor is idle.
std::vector<std::byte> read_whole(const Executor& executor, const Program& program, TensorId tensor);

/// Writes a whole tensor: gives every rank its slice.
void write_whole(Executor& executor, const Program& program, TensorId tensor,
                 const std::vector<std::byte>& whole);

/// Copies every parameter from one executor's ranks to another's, by name. Both run the same model on the
/// same T, and `to` on no more replicas than `from`.
void copy_weights(const Executor& from, const Program& from_program, Executor& to, const Program& to_program);

/// Throws a run Error unless all of `bytes` are finite numbers of `dtype`. It names the tensor as `what`,
/// such as "tensor ln_f.weight" or, from a file, "FILE, tensor ln_f.weight", and the element.
void require_finite(const std::string& what, DType dtype, const std::vector<std::byte>& bytes);

/// Converts the first `count` elements of `bytes` from `dtype` to double.
void elements_of(DType dtype, const std::byte* bytes, size_t count, double* to);

/// Reads element `index` of a small tensor that every rank holds, from rank `rank` (numbered as in
/// Executor::read_tensor()).
double read_scalar(const Executor& executor, const Program& program, TensorId tensor, size_t index = 0,
                   int rank = 0);

}  // namespace shardlens
