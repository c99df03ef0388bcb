// Imitates a process that has as many files open as it may.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <iterator>
#include <stdexcept>
#include <vector>

namespace shardlens::testing {

/// A sanitizer opens files itself to look at an object, and takes what it cannot see for wrong. So tests of
/// too few files are skipped under it, with this reason.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitizerNeedsFiles = true;
#else
inline constexpr bool kSanitizerNeedsFiles = false;
#endif
inline constexpr const char* kWhyFilesAreNeeded = "a sanitizer opens files itself to look at an object";

/// While it lives, this process may open `more` files more.
class FewFiles {
 public:
  explicit FewFiles(int more) {
    if (getrlimit(RLIMIT_NOFILE, &before_) != 0) throw std::runtime_error("the limit cannot be read");
    std::vector<int> opened;  // each gets the lowest number that is free
    while (std::ssize(opened) <= more) opened.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
    for (const int file : opened) close(file);
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(opened.back());
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) throw std::runtime_error("the limit cannot be set");
  }
  ~FewFiles() { setrlimit(RLIMIT_NOFILE, &before_); }
  FewFiles(const FewFiles&) = delete;
  FewFiles& operator=(const FewFiles&) = delete;

 private:
  rlimit before_{};
};

}  // namespace shardlens::testing
