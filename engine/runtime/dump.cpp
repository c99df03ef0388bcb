// Names and shapes full tensors as a checkpoint does.
#include "engine/runtime/dump.h"

#include "engine/io/safetensors.h"
#include "engine/planner/parameters.h"

namespace shardlens {
namespace {

// The name of a layer's input or result in a dump; empty for all other tensors. Its output is known by being
// kept: what it is called depends on the block and on the place of the norms.
std::string name_in_layer_dump(const Tensor& tensor) {
  if (tensor.role == Role::LayerInput && tensor.kind == MemoryKind::Input) return "X";
  if (tensor.role == Role::OutputGradient && tensor.kind == MemoryKind::Input) return "grad.Y";
  if (!tensor.keep) return "";
  return tensor.kind == MemoryKind::ActivationGradient ? "grad.X" : "hidden";
}

}  // namespace

void dump_parameters(const Program& program, const Gather& gather, const std::string& prefix, Dump& dump) {
  for (const Tensor& weight : program.tensors) {
    if (weight.kind != MemoryKind::Weight || weight.storage != kNoTensor) continue;
    const auto found = gather.tensors().find(prefix + weight.name);
    if (found == gather.tensors().end()) continue;
    const GatheredTensor& whole = found->second;
    const int64_t element = element_bytes(whole.dtype);
    for (const StoredPart& part : stored_parts(program.settings, weight)) {
      DumpTensor& stored = dump[prefix + part.name];
      stored.dtype = whole.dtype;
      stored.shape = part.shape;
      stored.bytes.resize(static_cast<size_t>(element_count(part.shape) * element));
      take_part(weight, part, whole.bytes.data(), element, stored.bytes.data());
    }
  }
}

bool is_in_layer_dump(const Tensor& tensor) {
  // Each rank's own term of a gradient has another name than their sum.
  return tensor.kind == MemoryKind::WeightGradient ? tensor.layout.kind != LayoutKind::Partial
                                                   : !name_in_layer_dump(tensor).empty();
}

Dump layer_dump(const Program& program, const Gather& gather) {
  const Settings& settings = program.settings;
  Dump dump;
  for (const Tensor& tensor : program.tensors) {
    const std::string name = name_in_layer_dump(tensor);
    if (name.empty()) continue;
    const GatheredTensor& whole = gather.tensors().at(tensor.name);
    dump[name] = {whole.dtype, {settings.batch, settings.seq, settings.model.hidden}, whole.bytes};
  }
  dump_parameters(program, gather, "grad.", dump);
  return dump;
}

void write_dump(const std::string& path, const Dump& dump) {
  std::vector<TensorToStore> stored;
  for (const auto& [name, tensor] : dump)
    stored.push_back({name, tensor.dtype, tensor.shape, tensor.bytes.data()});
  write_safetensors(path, stored);
}

}  // namespace shardlens
