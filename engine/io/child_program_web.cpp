// A page starts no programs.
#include "engine/base/error.h"
#include "engine/io/child_program.h"

namespace shardlens {

ChildProgram::ChildProgram(std::vector<std::string> words, Streams, const std::string&) {
  throw request_error("a page cannot start " + words.front() + ": use the program on a desktop");
}

ChildProgram::~ChildProgram() = default;

void ChildProgram::end() {}

std::string ChildProgram::wait() {
  return {};
}

}  // namespace shardlens
