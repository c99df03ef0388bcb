// The cache of pictures in texture pages, drawn in one of two ways: a texel is a colour, made here, or a
// value, coloured by a shader.
#include "ui/widgets/heatmap.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "ui/platform/background_release.h"
#include "ui/platform/value_shader.h"
#include "ui/widgets/heatmap_pages.h"
#include "ui/widgets/tape.h"
#include "ui/widgets/within.h"

namespace shardlens::ui {
namespace {

constexpr float kTexelPixels = 1.5f;  // no block of cells is drawn smaller
// A shader thins values when it draws them, so zooming uploads nothing. But a Stage of whole pictures would
// be 100 MB for every run: if a heatmap is much smaller than its picture, the values are thinned to this many
// times more rows and columns than are drawn.
constexpr int kFiner = 4;
constexpr int64_t kTile = 128;  // exact elements are uploaded in tiles of this many rows and columns
// In blocks. If the middle of a pixel is exactly on the edge of two blocks, rounding would choose one by the
// place in the page. That place depends on what was drawn before, so the same moment could give different
// pictures.
constexpr float kOffTheEdges = 0.0037f;
constexpr uint64_t kUnusedFrames = 120;  // a texture not drawn for this long is freed

std::vector<ImU32> coloured(const Picture& picture, ColourScale scale) {
  const Colouring colour(scale);
  std::vector<ImU32> pixels(picture.values.size());
  std::transform(picture.values.begin(), picture.values.end(), pixels.begin(), colour);
  return pixels;
}

/// Notes the part [uv0, uv1] of a picture, in fractions of it, at [min, max]. It notes the whole picture with
/// a clip rectangle that cuts the rest away.
void note_pixels(Tape& tape, ImDrawList* list, ImVec2 min, ImVec2 max, const Picture& picture,
                 ColourScale scale, ImVec2 uv0, ImVec2 uv1, float opacity) {
  auto image = std::make_shared<Image>();
  image->size = {picture.cols, picture.rows};
  for (const ImU32 pixel : coloured(picture, scale))
    for (const int shift : {IM_COL32_R_SHIFT, IM_COL32_G_SHIFT, IM_COL32_B_SHIFT, IM_COL32_A_SHIFT})
      image->rgba.push_back(static_cast<uint8_t>(pixel >> shift & 255));
  const float width = (max.x - min.x) / (uv1.x - uv0.x), height = (max.y - min.y) / (uv1.y - uv0.y);
  const ImVec2 whole_min(min.x - uv0.x * width, min.y - uv0.y * height);
  list->PushClipRect(min, max, true);
  tape.note(list, mark::Pixels{whole_min, {whole_min.x + width, whole_min.y + height}, image, opacity});
  list->PopClipRect();
}

int power_of_two_at_least(float ratio) {
  int power = 1;
  while (static_cast<float>(power) < ratio && power < (1 << 20)) power *= 2;
  return power;
}

struct TextureKey {
  const void* owner;
  const void* data;  // one owner may hold several pictures
  int64_t row, col;  // of an exact tile's first element; -1 for a picture
  Stride stride;
  ColourScale scale;
  bool operator==(const TextureKey&) const = default;
};

void mix(size_t& hash, size_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
}

struct TextureKeyHash {
  size_t operator()(const TextureKey& key) const {
    size_t hash = std::hash<const void*>{}(key.owner);
    mix(hash, std::hash<const void*>{}(key.data));
    mix(hash, std::hash<int64_t>{}(key.row * 65537 + key.col));
    mix(hash, static_cast<size_t>(key.stride.rows * 4096 + key.stride.cols));
    mix(hash, std::hash<double>{}(key.scale.limit) + static_cast<size_t>(key.scale.map));
    return hash;
  }
};

using SamplesKey = std::vector<std::shared_ptr<const TensorSample>>;

struct SamplesKeyHash {
  size_t operator()(const SamplesKey& key) const {
    size_t hash = key.size();
    for (const auto& sample : key) mix(hash, std::hash<const void*>{}(sample.get()));
    return hash;
  }
};

}  // namespace

Stride stride_for(int rows, int cols, float width, float height, float block_pixels) {
  return {power_of_two_at_least(block_pixels * static_cast<float>(rows) / std::max(height, 1.0f)),
          power_of_two_at_least(block_pixels * static_cast<float>(cols) / std::max(width, 1.0f))};
}

Picture thinned(const Picture& picture, Stride stride) {
  if (stride == Stride{}) return picture;
  Picture result;
  result.rows = (picture.rows + stride.rows - 1) / stride.rows;
  result.cols = (picture.cols + stride.cols - 1) / stride.cols;
  result.values.reserve(static_cast<size_t>(result.rows) * static_cast<size_t>(result.cols));
  const auto at = [&](int row, int col) {
    return picture
        .values[static_cast<size_t>(row) * static_cast<size_t>(picture.cols) + static_cast<size_t>(col)];
  };
  const auto seen = [&](int row, int col) {
    float value = at(row, col);
    for (int r = row; r < std::min(row + stride.rows, picture.rows); ++r) {
      for (int c = col; c < std::min(col + stride.cols, picture.cols); ++c) {
        if (std::isnan(at(r, c))) value = at(r, c);
      }
    }
    return value;
  };
  const bool all_finite = picture.all_finite();
  for (int row = 0; row < picture.rows; row += stride.rows) {
    for (int col = 0; col < picture.cols; col += stride.cols)
      result.values.push_back(all_finite ? at(row, col) : seen(row, col));
  }
  return result;
}

struct Heatmaps::Impl {
  struct Entry {
    Pages::Place place;
    std::shared_ptr<const void> owner;  // keeps the address taken, so that a key is never reused
    uint64_t used = 0;
  };
  struct Scale {
    ColourScale scale;
    uint64_t used = 0;
  };
  const bool by_shader = ValueShader::current() != nullptr;
  Pages pages{by_shader ? Pages::Texels::Values : Pages::Texels::Colours, by_shader ? kFiner : 1};
  BackgroundRelease released;  ///< frees owners that only a picture still held
  std::unordered_map<TextureKey, Entry, TextureKeyHash> entries;
  std::unordered_map<SamplesKey, Scale, SamplesKeyHash> scales;
  uint64_t frame = 0;

  /// Returns how much a picture is thinned before it is uploaded, if blocks of `drawn` cells are drawn. NaN
  /// is looked for in every block, and not by a shader for every pixel.
  Stride kept(const Picture& picture, Stride drawn) const {
    if (!by_shader || !picture.all_finite()) return drawn;
    return {std::max(1, drawn.rows / kFiner), std::max(1, drawn.cols / kFiner)};
  }

  template <class MakePicture>
  Pages::Place find(TextureKey key, const std::shared_ptr<const void>& owner, const MakePicture& make) {
    const ColourScale scale = key.scale;
    if (by_shader) key.scale = {};  // values are the same in every scale
    const auto [found, added] = entries.try_emplace(key);
    Entry& entry = found->second;
    if (added) {
      const Picture& picture = make();
      entry.place = by_shader ? pages.add(picture.rows, picture.cols, picture.values.data())
                              : pages.add(picture.rows, picture.cols, coloured(picture, scale).data());
      entry.owner = owner;
    }
    entry.used = frame;
    return entry.place;
  }

  // Draws the part [uv0, uv1] of a place, in fractions of it, in blocks of `block` texels. Textures are not
  // filtered, so cells have sharp edges.
  void draw(ImDrawList* list, const Pages::Place& place, ImVec2 min, ImVec2 max, ImVec2 uv0, ImVec2 uv1,
            Stride block, ColourScale scale, float opacity) const {
    const auto u = [&](float part) {
      return (static_cast<float>(place.x) + part * static_cast<float>(place.width) +
              kOffTheEdges * static_cast<float>(block.cols)) /
             kPageExtent;
    };
    const auto v = [&](float part) {
      return (static_cast<float>(place.y) + part * static_cast<float>(place.height) +
              kOffTheEdges * static_cast<float>(block.rows)) /
             kPageExtent;
    };
    const auto exponent = [](int power) { return std::countr_zero(static_cast<unsigned>(power)); };
    const ImTextureID page = by_shader ? ValueShader::name_of(place.page) : place.page;
    const ImU32 look = by_shader
                           ? ValueShader::look(scale, {exponent(block.rows), exponent(block.cols)}, opacity)
                           : IM_COL32(255, 255, 255, static_cast<int>(255 * std::clamp(opacity, 0.0f, 1.0f)));
    list->AddImage(ImTextureRef(page), min, max, {u(uv0.x), v(uv0.y)}, {u(uv1.x), v(uv1.y)}, look);
  }
};

Heatmaps::Heatmaps() : impl_(std::make_unique<Impl>()) {}
Heatmaps::~Heatmaps() = default;

void Heatmaps::draw(ImDrawList* list, ImVec2 min, ImVec2 max, const std::shared_ptr<const void>& key,
                    const Picture& picture, ColourScale scale, ImVec2 uv0, ImVec2 uv1, float opacity) {
  if (picture.values.empty() || max.x <= min.x || max.y <= min.y || uv1.x <= uv0.x || uv1.y <= uv0.y) return;
  const Stride stride = stride_for(picture.rows, picture.cols, (max.x - min.x) / (uv1.x - uv0.x),
                                   (max.y - min.y) / (uv1.y - uv0.y), kTexelPixels);
  // The last texel of a row or column may stand for fewer cells than the others.
  const auto covered = [](int cells, int step) {
    const int texels = (cells + step - 1) / step;
    return static_cast<float>(cells) / static_cast<float>(texels * step);
  };
  Tape* const tape = Tape::current();
  const Stride kept = tape != nullptr ? stride : impl_->kept(picture, stride);
  const ImVec2 part(covered(picture.cols, kept.cols), covered(picture.rows, kept.rows));
  const ImVec2 from(uv0.x * part.x, uv0.y * part.y), to(uv1.x * part.x, uv1.y * part.y);
  if (tape != nullptr)
    return note_pixels(*tape, list, min, max, thinned(picture, stride), scale, from, to, opacity);
  std::optional<Picture> fewer;
  const Pages::Place place =
      impl_->find({key.get(), picture.values.data(), -1, -1, kept, scale}, key, [&]() -> const Picture& {
        if (kept == Stride{}) return picture;
        return fewer.emplace(thinned(picture, kept));
      });
  impl_->draw(list, place, min, max, from, to, {stride.rows / kept.rows, stride.cols / kept.cols}, scale,
              opacity);
}

void Heatmaps::draw_exact(ImDrawList* list, ImVec2 min, ImVec2 max,
                          const std::shared_ptr<const TensorSample>& sample, ColourScale scale, Range rows,
                          Range cols, float opacity) {
  const double cell_width = static_cast<double>(max.x - min.x) / static_cast<double>(cols.size());
  const double cell_height = static_cast<double>(max.y - min.y) / static_cast<double>(rows.size());
  if (!(cell_width > 0) || !(cell_height > 0)) return;
  const ImVec2 clip_min = list->GetClipRectMin(), clip_max = list->GetClipRectMax();
  // Elements that meet the clip rectangle, then the tiles that hold them.
  const auto seen = [](Range range, double begin, double cell, double clip_begin, double clip_end) {
    const int64_t first = range.begin + static_cast<int64_t>(std::floor((clip_begin - begin) / cell));
    const int64_t last = range.begin + static_cast<int64_t>(std::ceil((clip_end - begin) / cell));
    return Range{within(first, range.begin, range.end), within(last, range.begin, range.end)};
  };
  const Range seen_rows = seen(rows, min.y, cell_height, clip_min.y, clip_max.y);
  const Range seen_cols = seen(cols, min.x, cell_width, clip_min.x, clip_max.x);
  for (int64_t row0 = seen_rows.begin / kTile * kTile; row0 < seen_rows.end; row0 += kTile) {
    for (int64_t col0 = seen_cols.begin / kTile * kTile; col0 < seen_cols.end; col0 += kTile) {
      const Range tile_rows{row0, std::min(row0 + kTile, sample->matrix.rows)};
      const Range tile_cols{col0, std::min(col0 + kTile, sample->matrix.cols)};
      const auto elements = [&] {
        Picture picture;
        picture.rows = static_cast<int>(tile_rows.size());
        picture.cols = static_cast<int>(tile_cols.size());
        for (int64_t r = tile_rows.begin; r < tile_rows.end; ++r) {
          for (int64_t c = tile_cols.begin; c < tile_cols.end; ++c) {
            picture.values.push_back(static_cast<float>(sample->value(r, c)));
          }
        }
        return picture;
      };
      const Range part_rows{std::max(tile_rows.begin, rows.begin), std::min(tile_rows.end, rows.end)};
      const Range part_cols{std::max(tile_cols.begin, cols.begin), std::min(tile_cols.end, cols.end)};
      const auto x = [&](int64_t col) {
        return min.x + static_cast<float>(static_cast<double>(col - cols.begin) * cell_width);
      };
      const auto y = [&](int64_t row) {
        return min.y + static_cast<float>(static_cast<double>(row - rows.begin) * cell_height);
      };
      const auto u = [&](int64_t col) {
        return static_cast<float>(col - tile_cols.begin) / static_cast<float>(tile_cols.size());
      };
      const auto v = [&](int64_t row) {
        return static_cast<float>(row - tile_rows.begin) / static_cast<float>(tile_rows.size());
      };
      const ImVec2 part_min(x(part_cols.begin), y(part_rows.begin)),
          part_max(x(part_cols.end), y(part_rows.end));
      const ImVec2 uv0(u(part_cols.begin), v(part_rows.begin)), uv1(u(part_cols.end), v(part_rows.end));
      if (Tape* tape = Tape::current()) {
        note_pixels(*tape, list, part_min, part_max, elements(), scale, uv0, uv1, opacity);
        continue;
      }
      const Pages::Place tile =
          impl_->find({sample.get(), sample->exact.data(), row0, col0, {}, scale}, sample, elements);
      impl_->draw(list, tile, part_min, part_max, uv0, uv1, {}, scale, opacity);
    }
  }
}

ColourScale Heatmaps::scale(const std::vector<std::shared_ptr<const TensorSample>>& samples_of_all_ranks) {
  const auto [found, added] = impl_->scales.try_emplace(samples_of_all_ranks);
  if (added) found->second.scale = common_scale(samples_of_all_ranks);
  found->second.used = impl_->frame;
  return found->second.scale;
}

void Heatmaps::end_frame() {
  ++impl_->frame;
  impl_->pages.free_retired();
  const auto unused = [&](uint64_t used) { return used + kUnusedFrames < impl_->frame; };
  std::erase_if(impl_->entries, [&](auto& entry) {
    if (!unused(entry.second.used)) return false;
    impl_->released.release(std::move(entry.second.owner));
    return true;
  });
  for (auto next = impl_->scales.begin(); next != impl_->scales.end();) {
    const auto entry = next++;
    if (unused(entry->second.used))
      impl_->released.release(std::make_shared<SamplesKey>(std::move(impl_->scales.extract(entry).key())));
  }
  // If most of the pages is forgotten pictures, everything is cleared; visible pictures come back in the next
  // frame.
  int64_t wanted = 0;
  for (const auto& [key, entry] : impl_->entries) wanted += int64_t{entry.place.width} * entry.place.height;
  if (impl_->pages.taken() > kPageTexels / 2 && wanted * 2 < impl_->pages.taken()) {
    impl_->entries.clear();
    impl_->pages.clear();
  }
}

size_t Heatmaps::pictures() const {
  return impl_->entries.size();
}
size_t Heatmaps::pages() const {
  return impl_->pages.size();
}

ColourScale common_scale(const std::vector<std::shared_ptr<const TensorSample>>& samples_of_all_ranks) {
  PictureExtent all;
  for (const auto& sample : samples_of_all_ranks) {
    if (!sample) continue;
    const PictureExtent& extent = sample->picture.extent;
    all.largest = std::max(all.largest, extent.largest);
    all.squares += extent.squares;
    all.finite += extent.finite;
  }
  const double rms = all.finite > 0 ? std::sqrt(all.squares / static_cast<double>(all.finite)) : 0;
  const double limit = std::min(all.largest, 3 * rms);
  return {ColourMap::Signed, limit > 0 ? limit : 1};
}

}  // namespace shardlens::ui
