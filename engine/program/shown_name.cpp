// Puts a tensor's letter and its plain name together.
#include "engine/program/shown_name.h"

#include <fmt/format.h>

namespace shardlens {

std::string shown_name(const Tensor& tensor) {
  const std::string& name = tensor.name;
  if (tensor.symbol.empty() || tensor.symbol == name) return name;
  std::string plain = name;
  if (const size_t form = name.find('@'); form != std::string::npos) {
    const std::string layout = to_string(tensor.layout);
    plain = fmt::format("{}, {}", name.substr(0, form), layout.substr(0, layout.find('(')));
  }
  return fmt::format("{} ({})", tensor.symbol, plain);
}

bool reads_alike(const Tensor& tensor, const Tensor& other) {
  return tensor.symbol == other.symbol;
}

}  // namespace shardlens
