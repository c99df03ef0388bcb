// Words for tensors: see tensor_words.h.
#include "ui/panels/tensor_words.h"

#include <fmt/format.h>

#include "engine/base/units.h"

namespace shardlens::ui {
namespace {

/// "rows" or "columns" if this side of the matrix is one dimension; else "heads", because the cut is between
/// attention heads.
std::string dimension_word(const Tensor& tensor) {
  const int dims = static_cast<int>(tensor.shape.size());
  const bool in_rows = tensor.layout.dim < tensor.row_dims;
  const int side_dims = in_rows ? tensor.row_dims : dims - tensor.row_dims;
  if (side_dims > 1) return "heads";
  return in_rows ? "rows" : "columns";
}

int64_t cut_extent(const Tensor& tensor) {
  return tensor.shape[static_cast<size_t>(tensor.layout.dim)];
}

}  // namespace

std::string layout_title(const Tensor& tensor, int ranks) {
  if (ranks == 1) return "Whole";
  if (tensor.layout.kind != LayoutKind::Sharded) return to_string(tensor.layout);
  return fmt::format("{}: {}", to_string(tensor.layout), dimension_word(tensor));
}

std::string layout_sentence(const Tensor& tensor, int ranks) {
  if (ranks == 1) return "One rank, so it holds the whole tensor.";
  switch (tensor.layout.kind) {
    case LayoutKind::Partial:
      if (tensor.layout.dim >= 0)
        return fmt::format("A slice, and wrong until summed over the {} ranks that hold it.",
                           tensor.layout.copies);
      return fmt::format("Full shape, and wrong until summed over {} ranks.", ranks);
    case LayoutKind::Replicated:
      return "Every rank holds the whole tensor, the same bits.";
    case LayoutKind::Sharded:
      break;
  }
  const int64_t extent = cut_extent(tensor);
  const int64_t most = slice_of(tensor.layout, extent, ranks, 0).size();
  const int64_t least = slice_of(tensor.layout, extent, ranks, ranks - 1).size();
  const std::string share = most == least ? fmt::format("{}", most) : fmt::format("{} to {}", least, most);
  const std::string held =
      fmt::format("Each rank holds {} of the {} {}", share, extent, dimension_word(tensor));
  if (tensor.layout.copies > 1)
    return fmt::format("{}, the same on {} neighbours.", held, tensor.layout.copies);
  if (tensor.layout.padded && most != least)
    return fmt::format("{}, filled up to {} with zeros.", held, most);
  return held + ".";
}

std::string held_range(const Tensor& tensor, int ranks, int rank) {
  if (tensor.layout.kind != LayoutKind::Sharded || ranks == 1) return {};
  const int64_t extent = cut_extent(tensor);
  const Range range = slice_of(tensor.layout, extent, ranks, rank);
  if (range.size() == 0) return fmt::format("none of {} {}", extent, dimension_word(tensor));
  return fmt::format("{} {} … {}", dimension_word(tensor), range.begin, range.end - 1);
}

std::vector<ShapeLine> shape_lines(const Tensor& tensor, int ranks) {
  std::vector<ShapeLine> lines;
  for (int first = 0; first < ranks;) {
    const Shape shape = local_shape(tensor, ranks, first);
    int last = first;
    while (last + 1 < ranks && local_shape(tensor, ranks, last + 1) == shape) ++last;
    std::string who =
        first == last ? fmt::format("rank {}", first) : fmt::format("ranks {} to {}", first, last);
    if (first == 0 && last == ranks - 1) who = ranks == 1 ? "rank 0" : "every rank";
    lines.push_back({std::move(who), shape, local_bytes(tensor, ranks, first)});
    first = last + 1;
  }
  return lines;
}

std::string picture_only_words(const TensorSample& sample, const std::string& not_exact) {
  if (sample.has_exact() || sample.stats.count == 0) return {};
  const std::string why =
      sample.stats.count > kExactElements
          ? fmt::format("a rank's piece has {} elements, and they are kept only for pieces of up to {}",
                        grouped_text(sample.stats.count), grouped_text(kExactElements))
          : fmt::format("those of smaller tensors fill the {} reserved for a run",
                        bytes_text(static_cast<double>(kExactBudgetBytes)));
  return fmt::format("Picture only: exact values were not kept because {}.{}{}", why,
                     not_exact.empty() ? "" : " ", not_exact);
}

std::string describe(const Program& program, const Tensor& tensor) {
  const bool whole = program.settings.block == Block::Model;
  const std::string layer = fmt::format("layer\u00A0{}", program.settings.layer);
  const StepId producer = producer_of(program, tensor.id);
  if (producer >= 0) {
    const Step& step = program.step(producer);
    const std::string phase = to_string(step.phase);
    // Several outputs of one step have the same symbol.
    const std::string name = step.outputs.size() > 1 ? tensor.name + ": " : "";
    // A whole model's names say the layer: "h.2.ln1".
    return whole ? fmt::format("{}output of {}, {}", name, step.name, phase)
                 : fmt::format("{}output of {}, {}, {}", name, step.name, phase, layer);
  }
  if (tensor.kind == MemoryKind::OptimizerState) return "state of the optimizer";
  if (tensor.kind == MemoryKind::KeyValueCache) return "keys or values of the tokens before";
  if (tensor.kind == MemoryKind::Weight) return whole ? "parameter" : fmt::format("parameter, {}", layer);
  if (whole) return "input of the model";
  if (tensor.role == Role::OutputGradient) return "the gradient that arrives from the next layer";
  return fmt::format("input of {}", layer);
}

}  // namespace shardlens::ui
