// The textures of heatmaps. Many pictures share a few large pages, so that a panel full of heatmaps is drawn
// without changing the texture. Space is taken in shelves, left to right, and given back all at once. Some
// free pages are kept for later, because the driver clears the memory of a new page first.
#pragma once

#include <cstdint>
#include <vector>

namespace shardlens::ui {

inline constexpr int kPageExtent = 2048;  ///< texels of a page in each direction
inline constexpr int64_t kPageTexels = int64_t{kPageExtent} * kPageExtent;

class Pages {
 public:
  /// What a texel is: four bytes of colour, or one float.
  enum class Texels { Colours, Values };
  struct Place {
    unsigned page = 0;  ///< an OpenGL texture
    int x = 0, y = 0, width = 0, height = 0;
  };

  /// Every place begins at a multiple of `grid` texels.
  Pages(Texels texels, int grid) : texels_(texels), grid_(grid) {}
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  /// Copies rows x cols texels into a page.
  Place add(int rows, int cols, const void* texels);
  /// Forgets everything. The textures stay until free_retired(), for a frame that is built but not yet
  /// rendered.
  void clear();
  void free_retired();

  size_t size() const { return pages_.size(); }
  /// Texels given out since the last clear().
  int64_t taken() const { return taken_; }

 private:
  Place reserve(int width, int height);
  void begin_page();

  Texels texels_;
  int grid_;
  std::vector<unsigned> pages_, retired_, spare_;
  int64_t taken_ = 0;
  int x_ = 0, y_ = 0, shelf_ = 0;
};

}  // namespace shardlens::ui
