// The values of chunks, from the pictures that the run kept of every rank's tensor. Each term is thinned to
// the same few cells, and a sum of terms is the sum of their cells, so it is right as a picture too.
#include <tuple>

#include "ui/collective/parts.h"
#include "ui/plan/cache.h"

namespace shardlens::ui::collective {
namespace {

constexpr int kRows = 10, kCols = 28;

/// A part of a picture, in fractions of it.
struct Part {
  float u0 = 0, v0 = 0, u1 = 1, v1 = 1;
};

float share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<float>(static_cast<double>(part) / static_cast<double>(whole)) : 0.0f;
}

/// Where the slice of rank `chunk` lies in a matrix that `sliced` says how to cut.
std::vector<Part> parts_of_slice(const Tensor& sliced, int ranks, int chunk) {
  const MatrixShape full = matrix_shape(sliced);
  std::vector<Part> parts;
  for (const Placement& one : placements(sliced, ranks, chunk))
    parts.push_back({share(one.cols.begin, full.cols), share(one.rows.begin, full.rows),
                     share(one.cols.end, full.cols), share(one.rows.end, full.rows)});
  return parts;
}

/// Where chunk `chunk` lies in what a rank holds at first.
std::vector<Part> parts_of(const Inside& inside, int rank, int chunk) {
  const Tensor& in = inside.program().tensor(inside.step().inputs.front());
  const Tensor& out = inside.program().tensor(inside.step().outputs.front());
  const int tp = inside.program().tp();
  switch (inside.kind()) {
    case Collective::AllReduce: {  // chunks are cut from the elements in their order, so about by rows
      const int chunks = inside.route().chunks;
      const int64_t elements =
          std::max<int64_t>(1, element_count(local_shape(in, tp, inside.ranks.front() % tp)));
      const Range range = shard_range(elements, chunks, chunk);
      if (range.size() == 0) return {};
      return {{0, share(range.begin, elements), 1, share(range.end, elements)}};
    }
    case Collective::ReduceScatter:
      return parts_of_slice(out, tp, chunk);
    case Collective::AllToAll: {  // the rank's own slice, cut again the other way
      Tensor own = in;
      own.shape = local_shape(in, tp, rank);
      own.layout = out.layout;
      return parts_of_slice(own, tp, chunk);
    }
    default:
      return {Part{}};
  }
}

/// Reads the cells of the parts, which lie beside each other, or below each other if they are of the same
/// columns.
std::shared_ptr<const Picture> thinned_part(const Picture& from, const std::vector<Part>& parts) {
  if (parts.empty() || from.rows == 0 || from.cols == 0) return nullptr;
  auto picture = std::make_shared<Picture>();
  picture->rows = kRows;
  picture->cols = kCols;
  picture->values.reserve(kRows * kCols);
  const bool below = parts.size() > 1 && parts[0].u0 == parts[1].u0;
  const auto count = static_cast<float>(parts.size());
  for (int row = 0; row < kRows; ++row)
    for (int col = 0; col < kCols; ++col) {
      float u = (static_cast<float>(col) + 0.5f) / kCols, v = (static_cast<float>(row) + 0.5f) / kRows;
      float& along = below ? v : u;
      const float which = std::min(std::floor(along * count), count - 1);
      along = along * count - which;
      const Part& part = parts[static_cast<size_t>(which)];
      const auto cell = [](float begin, float end, float at, int cells) {
        return std::clamp(static_cast<int>((begin + (end - begin) * at) * static_cast<float>(cells)), 0,
                          cells - 1);
      };
      picture->values.push_back(from.values[static_cast<size_t>(
          cell(part.v0, part.v1, v, from.rows) * from.cols + cell(part.u0, part.u1, u, from.cols))]);
    }
  measure_extent(*picture);
  return picture;
}

std::shared_ptr<const TensorSample> sample_of(const Inside& inside, TensorId tensor, int index) {
  // The samples are those of the first replica.
  const int rank = inside.ranks[static_cast<size_t>(index)];
  if (!inside.result || rank >= inside.program().tp()) return nullptr;
  const SampleTable& samples = inside.result->samples;
  const auto r = static_cast<size_t>(rank), t = static_cast<size_t>(tensor);
  return r < samples.size() && t < samples[r].size() ? samples[r][t] : nullptr;
}

bool has_values(const Inside& inside) {
  const Step& step = inside.step();
  const Tensor& in = inside.program().tensor(step.inputs.front());
  // A maximum of means is no mean of maxima; a bucket has many tensors; other replicas' values are not kept.
  return inside.drawn() && step.inputs.size() == 1 && step.outputs.size() == 1 && step.axis == Axis::Tp &&
         in.layout.reduction == Reduction::Sum;
}

ChunkPictures read_terms(const Context& context, const Inside& inside) {
  ChunkPictures pictures;
  if (!has_values(inside)) return pictures;
  const TensorId in = inside.step().inputs.front(), out = inside.step().outputs.front();
  std::vector<std::shared_ptr<const TensorSample>> terms, results;
  for (int rank = 0; rank < inside.size(); ++rank) {
    terms.push_back(sample_of(inside, in, rank));
    results.push_back(sample_of(inside, out, rank));
    if (!terms.back()) return pictures;  // not run so far, or not recorded
  }
  pictures.scale = context.heatmaps.scale(results.front() ? results : terms);
  for (int rank = 0; rank < inside.size(); ++rank) {
    pictures.terms.emplace_back();
    for (int chunk = 0; chunk < inside.route().chunks; ++chunk)
      pictures.terms.back().push_back(
          thinned_part(terms[static_cast<size_t>(rank)]->picture, parts_of(inside, rank, chunk)));
  }
  return pictures;
}

std::shared_ptr<const Picture> sum_of(const ChunkPictures& pictures, const Holdings& held, int rank,
                                      int chunk) {
  std::shared_ptr<Picture> sum;
  for (int term = 0; term < held.ranks(); ++term) {
    if (held.times(rank, chunk, term) == 0) continue;
    const auto& one = pictures.terms[static_cast<size_t>(term)][static_cast<size_t>(chunk)];
    if (!one) return nullptr;
    if (!sum) {
      sum = std::make_shared<Picture>(*one);
      continue;
    }
    for (size_t i = 0; i < sum->values.size(); ++i) sum->values[i] += one->values[i];
  }
  if (sum) measure_extent(*sum);
  return sum;
}

}  // namespace

const ChunkPictures& pictures_of(const Context& context, const Inside& inside) {
  using Key = std::tuple<std::shared_ptr<const Result>, std::vector<std::shared_ptr<const TensorSample>>,
                         std::shared_ptr<const States>, StepId, int>;
  static Cache<Key, ChunkPictures, 2> known;
  // The samples are part of the key, because those of a recording arrive after its result.
  std::vector<std::shared_ptr<const TensorSample>> samples;
  for (int rank = 0; rank < inside.size(); ++rank)
    samples.push_back(sample_of(inside, inside.step().inputs.front(), rank));
  return known.of(
      {inside.result, samples, inside.states, inside.step_id, inside.drawn() ? inside.hops_done() : 0}, [&] {
        ChunkPictures pictures = read_terms(context, inside);
        if (!pictures.known() || inside.kind() == Collective::AllToAll) return pictures;
        const Holdings& held = inside.states->after[static_cast<size_t>(inside.hops_done())];
        for (int rank = 0; rank < inside.size(); ++rank) {
          pictures.held.emplace_back();
          for (int chunk = 0; chunk < inside.route().chunks; ++chunk)
            pictures.held.back().push_back(sum_of(pictures, held, rank, chunk));
        }
        return pictures;
      });
}

void draw_picture(const Context& context, const Inside& inside, const ChunkPictures& pictures, int rank,
                  int chunk, const stage::Rect& place) {
  if (!pictures.known()) return;
  ImDrawList* list = ImGui::GetWindowDrawList();
  fill_rect(list, place.min, place.max, context.theme.ghost);
  const auto r = static_cast<size_t>(rank), c = static_cast<size_t>(chunk);
  if (inside.kind() != Collective::AllToAll) {
    if (const auto& held = pictures.held[r][c])
      context.heatmaps.draw(list, place.min, place.max, held, *held, pictures.scale);
    return;
  }
  // Pieces of an all-to-all are not added: each has its place beside the others.
  const Holdings& held = inside.states->after[static_cast<size_t>(inside.hops_done())];
  const float width = place.width() / static_cast<float>(held.terms(rank, chunk));
  float x = place.min.x;
  for (int term = 0; term < inside.size(); ++term) {
    if (held.times(rank, chunk, term) == 0) continue;
    if (const auto& piece = pictures.terms[static_cast<size_t>(term)][c])
      context.heatmaps.draw(list, {x, place.min.y}, {x + width, place.max.y}, piece, *piece, pictures.scale);
    x += width;
  }
}

}  // namespace shardlens::ui::collective
