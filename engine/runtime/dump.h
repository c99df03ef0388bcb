// Full tensors under the names and in the shapes of a checkpoint, so that other programs can be compared with
// this one (`step --dump`).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/program/program.h"
#include "engine/runtime/gather.h"

namespace shardlens {

/// A full tensor in a dump.
struct DumpTensor {
  DType dtype = DType::Fp32;
  Shape shape;
  std::vector<std::byte> bytes;  ///< row-major
};

/// By name: "hidden", "grad.transformer.h.0.ln_1.weight".
using Dump = std::map<std::string, DumpTensor>;

/// Adds what was gathered as `prefix` + the name of each weight, such as "grad." or "param.", in the parts
/// and shapes in which a checkpoint stores the weight.
void dump_parameters(const Program& program, const Gather& gather, const std::string& prefix, Dump& dump);

/// True for the tensors that layer_dump() needs.
bool is_in_layer_dump(const Tensor& tensor);

/// What the run of one layer, or of one block of it, is given and gives: X, hidden (its output), grad.Y and
/// grad.X, [B, S, C] each, and grad.<name> of every weight.
Dump layer_dump(const Program& program, const Gather& gather);

/// Writes a dump as a safetensors file.
void write_dump(const std::string& path, const Dump& dump);

}  // namespace shardlens
