// Copies tensors between the ranks' memory and whole tensors.
#include "engine/train/model_state.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <map>

#include "engine/base/error.h"
#include "engine/io/half.h"
#include "engine/record/sample.h"
#include "engine/runtime/gather.h"

namespace shardlens {

std::vector<TensorId> lasting_tensors(const Program& program) {
  std::vector<TensorId> ids;
  for (const Tensor& tensor : program.tensors) {
    const bool lasts = tensor.kind == MemoryKind::Weight || tensor.kind == MemoryKind::OptimizerState;
    if (lasts && tensor.storage == kNoTensor) ids.push_back(tensor.id);
  }
  return ids;
}

std::vector<std::byte> read_whole(const Executor& executor, const Program& program, TensorId id) {
  const Tensor& tensor = program.tensor(id);
  Gather gather(program.tp(), [](const Tensor&) { return true; });
  for (int rank = 0; rank < program.tp(); ++rank) {
    std::vector<std::byte> slice(static_cast<size_t>(local_bytes(tensor, program.tp(), rank)));
    executor.read_tensor(rank, id, slice.data());
    gather.on_tensor(rank, -1, tensor, slice.data());
  }
  return gather.tensors().at(tensor.name).bytes;
}

void write_whole(Executor& executor, const Program& program, TensorId id,
                 const std::vector<std::byte>& whole) {
  const Tensor& tensor = program.tensor(id);
  const auto element = static_cast<size_t>(element_bytes(tensor.dtype));
  const auto full_cols = static_cast<size_t>(matrix_shape(tensor).cols);
  for (int world = 0; world < program.tp() * program.dp(); ++world) {
    const int rank = world % program.tp();
    const auto own_cols = static_cast<size_t>(local_matrix_shape(tensor, program.tp(), rank).cols);
    std::vector<std::byte> slice(static_cast<size_t>(local_bytes(tensor, program.tp(), rank)));
    if (slice.empty()) continue;
    for (const Placement& place : placements(tensor, program.tp(), rank)) {
      for (int64_t i = 0; i < place.rows.size(); ++i) {
        const size_t from =
            static_cast<size_t>(place.rows.begin + i) * full_cols + static_cast<size_t>(place.cols.begin);
        const size_t to = static_cast<size_t>(place.local_rows.begin + i) * own_cols +
                          static_cast<size_t>(place.local_cols.begin);
        std::memcpy(slice.data() + to * element, whole.data() + from * element,
                    static_cast<size_t>(place.cols.size()) * element);
      }
    }
    executor.write_tensor(world, id, slice.data());
  }
}

void copy_weights(const Executor& from, const Program& from_program, Executor& to,
                  const Program& to_program) {
  std::map<std::string, TensorId> source;
  for (const TensorId id : lasting_tensors(from_program)) source[from_program.tensor(id).name] = id;
  std::vector<std::byte> slice;
  for (const TensorId id : lasting_tensors(to_program)) {
    const Tensor& tensor = to_program.tensor(id);
    for (int world = 0; world < to_program.tp() * to_program.dp(); ++world) {
      slice.resize(static_cast<size_t>(local_bytes(tensor, to_program.tp(), world % to_program.tp())));
      from.read_tensor(world, source.at(tensor.name), slice.data());
      to.write_tensor(world, id, slice.data());
    }
  }
}

void elements_of(DType dtype, const std::byte* bytes, size_t count, double* to) {
  const auto each = [=](auto zero, const auto& widened) {
    for (size_t i = 0; i < count; ++i) {
      auto stored = zero;
      std::memcpy(&stored, bytes + i * sizeof stored, sizeof stored);
      to[i] = static_cast<double>(widened(stored));
    }
  };
  const auto itself = [](auto value) { return value; };
  switch (dtype) {
    case DType::Fp64:
      return each(double{}, itself);
    case DType::Fp16:
      return each(uint16_t{}, half_to_float);
    case DType::Bf16:
      return each(uint16_t{}, bfloat_to_float);
    case DType::Int32:
      return each(int32_t{}, itself);
    case DType::Fp32:
      return each(float{}, itself);
  }
}

void require_finite(const std::string& what, DType dtype, const std::vector<std::byte>& bytes) {
  const size_t count = bytes.size() / static_cast<size_t>(element_bytes(dtype));
  for (size_t i = 0; i < count; ++i) {
    const double value = element_of(dtype, bytes.data(), static_cast<int64_t>(i));
    if (!std::isfinite(value))
      throw run_error(
          fmt::format("{} holds {} at element {}", what, std::isnan(value) ? "NaN" : "infinity", i));
  }
}

double read_scalar(const Executor& executor, const Program& program, TensorId id, size_t index, int rank) {
  const Tensor& tensor = program.tensor(id);
  std::vector<std::byte> bytes(static_cast<size_t>(tensor.bytes()));
  executor.read_tensor(rank, id, bytes.data());
  return element_of(tensor.dtype, bytes.data(), static_cast<int64_t>(index));
}

}  // namespace shardlens
