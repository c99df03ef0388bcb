// Gives out places in pages, and copies texels to them.
#include "ui/widgets/heatmap_pages.h"

#include <algorithm>

#include "ui/platform/gl.h"

namespace shardlens::ui {
namespace {

constexpr size_t kSparePages = 2;

struct Format {
  GLint kept;
  GLenum channels, type;
};

Format format_of(Pages::Texels texels) {
  return texels == Pages::Texels::Values ? Format{GL_R32F, GL_RED, GL_FLOAT}
                                         : Format{GL_RGBA, GL_RGBA, GL_UNSIGNED_BYTE};
}

}  // namespace

Pages::~Pages() {
  for (const std::vector<unsigned>* all : {&pages_, &retired_, &spare_})
    glDeleteTextures(static_cast<GLsizei>(all->size()), all->data());
}

Pages::Place Pages::add(int rows, int cols, const void* texels) {
  const Place place = reserve(cols, rows);
  const Format format = format_of(texels_);
  glBindTexture(GL_TEXTURE_2D, place.page);
  glPixelStorei(GL_UNPACK_ROW_LENGTH, 0);
  glTexSubImage2D(GL_TEXTURE_2D, 0, place.x, place.y, cols, rows, format.channels, format.type, texels);
  return place;
}

void Pages::clear() {
  retired_.insert(retired_.end(), pages_.begin(), pages_.end());
  pages_.clear();
  taken_ = 0;
}

void Pages::free_retired() {
  while (!retired_.empty() && spare_.size() < kSparePages) {
    spare_.push_back(retired_.back());
    retired_.pop_back();
  }
  glDeleteTextures(static_cast<GLsizei>(retired_.size()), retired_.data());
  retired_.clear();
}

Pages::Place Pages::reserve(int width, int height) {
  const auto on_grid = [&](int extent) { return (extent + grid_ - 1) / grid_ * grid_; };
  if (pages_.empty()) begin_page();
  if (x_ + width > kPageExtent) {  // the next shelf
    y_ += shelf_;
    x_ = shelf_ = 0;
  }
  if (y_ + height > kPageExtent) begin_page();
  const Place place{pages_.back(), x_, y_, width, height};
  taken_ += int64_t{width} * height;
  x_ += on_grid(width);
  shelf_ = std::max(shelf_, on_grid(height));
  return place;
}

void Pages::begin_page() {
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
  const Format format = format_of(texels_);
  glTexImage2D(GL_TEXTURE_2D, 0, format.kept, kPageExtent, kPageExtent, 0, format.channels, format.type,
               nullptr);
  pages_.push_back(page);
}

}  // namespace shardlens::ui
