// Scratch that begins at a cache line, so that no register of it crosses two lines. A crossing needs two
// reads or writes, and makes a row times a matrix a tenth slower.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace shardlens::cpu {

template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};

  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}

  T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
  void deallocate(T* memory, size_t) { ::operator delete(memory, kLine); }
  template <class U>
  bool operator==(const LineAllocator<U>&) const {
    return true;
  }
};

template <class T>
using Aligned = std::vector<T, LineAllocator<T>>;

}  // namespace shardlens::cpu
