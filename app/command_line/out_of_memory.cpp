// The handler of a failed `new`.
#include "app/command_line/out_of_memory.h"

#include <array>
#include <cstdio>
#include <new>
#include <utility>

#include "engine/base/limits.h"

namespace shardlens::cli {
namespace {

constexpr const char* kRemedy = "choose smaller sizes or a smaller model";

class OutOfMemory : public std::bad_alloc {
 public:
  explicit OutOfMemory(const char* figures) {
    std::snprintf(text_.data(), text_.size(), "there is not enough memory%s%s: %s", *figures == 0 ? "" : "; ",
                  figures, kRemedy);
  }
  const char* what() const noexcept override { return text_.data(); }

 private:
  std::array<char, 300> text_{};
};

// Reading the figures needs a little memory itself.
[[noreturn]] void fail() {
  thread_local bool is_failing = false;
  if (std::exchange(is_failing, true)) throw std::bad_alloc();
  std::array<char, 200> figures{};
  try {
    std::snprintf(figures.data(), figures.size(), "%s", memory_text().c_str());
  } catch (const std::bad_alloc&) {
    figures[0] = 0;
  }
  is_failing = false;
  throw OutOfMemory(figures.data());
}

}  // namespace

void explain_lack_of_memory() {
  std::set_new_handler(fail);
}

}  // namespace shardlens::cli
