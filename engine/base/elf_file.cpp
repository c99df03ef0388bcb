// Reads the headers of an ELF file.
#include "engine/base/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

namespace shardlens {
namespace {

class File {
 public:
  // Does not wait for a pipe.
  explicit File(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~File() {
    if (file_ >= 0) close(file_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// Sets `size`. Returns why the file cannot be read; empty if it can.
  std::string problem(uint64_t& size) const {
    struct stat facts {};
    if (file_ < 0 || fstat(file_, &facts) != 0) return std::strerror(errno);
    if (!S_ISREG(facts.st_mode)) return "it is not a regular file";
    size = static_cast<uint64_t>(facts.st_size);
    return {};
  }
  bool read(uint64_t offset, void* out, size_t bytes) const {
    return pread(file_, out, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
  }
  template <class Row>
  std::vector<Row> table(uint64_t offset, size_t rows) const {
    std::vector<Row> table(rows);
    if (!read(offset, table.data(), rows * sizeof(Row))) table.clear();
    return table;
  }

 private:
  int file_;
};

// Returns where a part ends; the largest number if no file could hold it.
uint64_t end_of(uint64_t offset, uint64_t bytes) {
  return offset > UINT64_MAX - bytes ? UINT64_MAX : offset + bytes;
}

bool is_for_this_machine(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_machine == EM_X86_64 && header.e_type == ET_DYN &&
         header.e_phentsize == sizeof(Elf64_Phdr) && header.e_phnum > 0 &&
         (header.e_shoff == 0 || header.e_shentsize == sizeof(Elf64_Shdr));
}

}  // namespace

std::string damage_of_library(const std::string& path) {
  const File file(path);
  uint64_t size = 0;
  if (std::string problem = file.problem(size); !problem.empty()) return problem;
  Elf64_Ehdr header{};
  if (!file.read(0, &header, sizeof header) || !is_for_this_machine(header))
    return "it is not a shared library for this machine, or its beginning is damaged";
  const size_t sections = header.e_shoff == 0 ? 0 : header.e_shnum;
  uint64_t end = std::max(end_of(header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr)),
                          end_of(header.e_shoff, sections * sizeof(Elf64_Shdr)));
  if (end <= size) {
    for (const Elf64_Phdr& part : file.table<Elf64_Phdr>(header.e_phoff, header.e_phnum))
      end = std::max(end, end_of(part.p_offset, part.p_filesz));
    for (const Elf64_Shdr& part : file.table<Elf64_Shdr>(header.e_shoff, sections))
      if (part.sh_type != SHT_NOBITS) end = std::max(end, end_of(part.sh_offset, part.sh_size));
  }
  if (end <= size) return {};
  const std::string what = end == UINT64_MAX
                               ? "its header is damaged"
                               : fmt::format("it is cut off: it has {} bytes, but needs {}", size, end);
  return what + "; copy it again, or build it";
}

}  // namespace shardlens
