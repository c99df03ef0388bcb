// The cache of textures, and the conversion from values to colours.
#include "ui/widgets/heatmap.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "ui/platform/background_release.h"
#include "ui/platform/gl.h"
#include "ui/widgets/tape.h"

namespace shardlens::ui {
namespace {

constexpr int kShades = 512;          // resolution of a colour map
constexpr float kTexelPixels = 1.5f;  // no texel is drawn smaller
constexpr int64_t kTile = 128;        // exact elements are uploaded in tiles of this many rows and columns
constexpr int kPageExtent = 2048;     // pixels of a texture page in each direction
constexpr int64_t kPageTexels = int64_t{kPageExtent} * kPageExtent;
constexpr size_t kSparePages = 2;
// In texels. If the middle of a pixel is exactly on the edge of two texels, rounding would choose one by the
// place in the page. That place depends on what was drawn before, so the same moment could give different
// pictures.
constexpr float kOffTheEdges = 0.0037f;
constexpr uint64_t kUnusedFrames = 120;  // a texture not drawn for this long is freed
constexpr ImU32 kNotANumber = IM_COL32(255, 0, 220, 255);

struct Rgb {
  double r, g, b;
};

constexpr Rgb rgb(unsigned hex) {
  return {static_cast<double>(hex >> 16 & 255), static_cast<double>(hex >> 8 & 255),
          static_cast<double>(hex & 255)};
}

constexpr std::array<Rgb, 3> kSigned{rgb(0x2C7BD6), rgb(0xF3F2EF), rgb(0xD9731A)};
// Cividis (Nunez, Anderton and Renslow 2018), ten equidistant samples of it.
constexpr std::array<Rgb, 10> kCividis{rgb(0x00224E), rgb(0x123570), rgb(0x3B496C), rgb(0x575D6D),
                                       rgb(0x707173), rgb(0x8A8678), rgb(0xA59C74), rgb(0xC3B369),
                                       rgb(0xE1CC55), rgb(0xFEE838)};

using Shades = std::array<ImU32, kShades>;

template <size_t N>
Shades shades(const std::array<Rgb, N>& anchors) {
  Shades result{};
  for (int i = 0; i < kShades; ++i) {
    const double at = static_cast<double>(i) / (kShades - 1) * (N - 1);
    const size_t k = std::min(static_cast<size_t>(at), N - 2);
    const double t = at - static_cast<double>(k);
    const auto mixed = [&](double a, double b) { return static_cast<int>(std::lround(a + (b - a) * t)); };
    const Rgb &a = anchors[k], &b = anchors[k + 1];
    result[static_cast<size_t>(i)] = IM_COL32(mixed(a.r, b.r), mixed(a.g, b.g), mixed(a.b, b.b), 255);
  }
  return result;
}

/// A colour scale prepared for many values.
class Colouring {
 public:
  explicit Colouring(ColourScale scale) {
    static const Shades signed_shades = shades(kSigned);
    static const Shades cividis_shades = shades(kCividis);
    const bool is_signed = scale.map == ColourMap::Signed;
    shades_ = is_signed ? &signed_shades : &cividis_shades;
    const double span = is_signed ? 2 * scale.limit : scale.limit;
    factor_ = span > 0 ? (kShades - 1) / span : 0;
    // Half a shade is added so that truncation rounds.
    offset_ = (is_signed ? 0.5 * (kShades - 1) : 0) + 0.5;
  }

  ImU32 operator()(double value) const {
    if (std::isnan(value)) return kNotANumber;
    const double index = std::clamp(value * factor_ + offset_, 0.0, kShades - 0.5);
    return (*shades_)[static_cast<size_t>(index)];
  }

 private:
  const Shades* shades_;
  double factor_, offset_;
};

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

// Many textures share a few large pages, so that a panel full of heatmaps is drawn without changing the
// texture. Space is taken in shelves, left to right, and given back all at once. Some free pages are kept for
// later, because the driver clears the memory of a new page first.
class Pages {
 public:
  struct Place {
    GLuint page = 0;
    int x = 0, y = 0, width = 0, height = 0;
  };

  ~Pages() {
    for (const std::vector<GLuint>* all : {&pages_, &retired_, &spare_})
      glDeleteTextures(static_cast<GLsizei>(all->size()), all->data());
  }

  Place add(const Picture& picture, ColourScale scale) {
    const std::vector<ImU32> pixels = coloured(picture, scale);
    const Place place = reserve(picture.cols, picture.rows);
    glBindTexture(GL_TEXTURE_2D, place.page);
    glPixelStorei(GL_UNPACK_ROW_LENGTH, 0);
    glTexSubImage2D(GL_TEXTURE_2D, 0, place.x, place.y, picture.cols, picture.rows, GL_RGBA, GL_UNSIGNED_BYTE,
                    pixels.data());
    return place;
  }

  /// Forgets everything. The textures stay until free_retired(), for a frame that is built but not yet
  /// rendered.
  void clear() {
    retired_.insert(retired_.end(), pages_.begin(), pages_.end());
    pages_.clear();
    taken_ = 0;
  }
  void free_retired() {
    while (!retired_.empty() && spare_.size() < kSparePages) {
      spare_.push_back(retired_.back());
      retired_.pop_back();
    }
    glDeleteTextures(static_cast<GLsizei>(retired_.size()), retired_.data());
    retired_.clear();
  }

  size_t size() const { return pages_.size(); }
  /// Texels given out since the last clear().
  int64_t taken() const { return taken_; }

 private:
  Place reserve(int width, int height) {
    if (pages_.empty()) begin_page();
    if (x_ + width > kPageExtent) {  // the next shelf
      y_ += shelf_;
      x_ = shelf_ = 0;
    }
    if (y_ + height > kPageExtent) begin_page();
    const Place place{pages_.back(), x_, y_, width, height};
    taken_ += int64_t{width} * height;
    x_ += width;
    shelf_ = std::max(shelf_, height);
    return place;
  }

  void begin_page() {
    x_ = y_ = shelf_ = 0;
    if (!spare_.empty()) {
      pages_.push_back(spare_.back());
      return spare_.pop_back();
    }
    GLuint page = 0;
    glGenTextures(1, &page);
    glBindTexture(GL_TEXTURE_2D, page);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, kPageExtent, kPageExtent, 0, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
    pages_.push_back(page);
  }

  std::vector<GLuint> pages_, retired_, spare_;
  int64_t taken_ = 0;
  int x_ = 0, y_ = 0, shelf_ = 0;
};

}  // namespace

Stride stride_for(int rows, int cols, float width, float height, float texel_pixels) {
  return {power_of_two_at_least(texel_pixels * static_cast<float>(rows) / std::max(height, 1.0f)),
          power_of_two_at_least(texel_pixels * static_cast<float>(cols) / std::max(width, 1.0f))};
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
  Pages pages;
  BackgroundRelease released;  ///< frees owners that only a picture still held
  std::unordered_map<TextureKey, Entry, TextureKeyHash> entries;
  std::unordered_map<SamplesKey, Scale, SamplesKeyHash> scales;
  uint64_t frame = 0;

  template <class MakePicture>
  Pages::Place find(const TextureKey& key, const std::shared_ptr<const void>& owner,
                    const MakePicture& make) {
    const auto [found, added] = entries.try_emplace(key);
    Entry& entry = found->second;
    if (added) {
      entry.place = pages.add(make(), key.scale);
      entry.owner = owner;
    }
    entry.used = frame;
    return entry.place;
  }

  // Draws the part [uv0, uv1] of a place, in fractions of it. Textures are not filtered, so cells have sharp
  // edges.
  void draw(ImDrawList* list, const Pages::Place& place, ImVec2 min, ImVec2 max, ImVec2 uv0, ImVec2 uv1,
            float opacity) const {
    const auto u = [&](float part) {
      return (static_cast<float>(place.x) + part * static_cast<float>(place.width) + kOffTheEdges) /
             kPageExtent;
    };
    const auto v = [&](float part) {
      return (static_cast<float>(place.y) + part * static_cast<float>(place.height) + kOffTheEdges) /
             kPageExtent;
    };
    list->AddImage(ImTextureRef(static_cast<ImTextureID>(place.page)), min, max, {u(uv0.x), v(uv0.y)},
                   {u(uv1.x), v(uv1.y)},
                   IM_COL32(255, 255, 255, static_cast<int>(255 * std::clamp(opacity, 0.0f, 1.0f))));
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
  const ImVec2 part(covered(picture.cols, stride.cols), covered(picture.rows, stride.rows));
  const ImVec2 from(uv0.x * part.x, uv0.y * part.y), to(uv1.x * part.x, uv1.y * part.y);
  if (Tape* tape = Tape::current())
    return note_pixels(*tape, list, min, max, thinned(picture, stride), scale, from, to, opacity);
  const Pages::Place place = impl_->find({key.get(), picture.values.data(), -1, -1, stride, scale}, key,
                                         [&] { return thinned(picture, stride); });
  impl_->draw(list, place, min, max, from, to, opacity);
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
    return Range{std::clamp(first, range.begin, range.end), std::clamp(last, range.begin, range.end)};
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
      impl_->draw(list, tile, part_min, part_max, uv0, uv1, opacity);
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

ImU32 colour_of(double value, ColourScale scale) {
  return Colouring(scale)(value);
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
