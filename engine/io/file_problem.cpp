// Words for what the system refused.
#include "engine/io/file_problem.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>

namespace shardlens {
namespace {

/// Returns the limit that is in force as a number, or "unlimited".
std::string limit_text(__rlimit_resource resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "unlimited";
  return fmt::format("{}", limit.rlim_cur);
}

std::string remedy(int error_number, Refused what) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return "free some space there, or name a path on another disk";
    case EFBIG:
      return fmt::format("no file may become larger than {} bytes here: raise the limit (ulimit -f)",
                         limit_text(RLIMIT_FSIZE));
    case EMFILE:
      return fmt::format("a program may have {} files open at once here: raise the limit (ulimit -n)",
                         limit_text(RLIMIT_NOFILE));
    case ENFILE:
      return "all programs of this machine together have too many files open: close some of them";
    case ENAMETOOLONG:
      return "use a shorter path";
    case EAGAIN:
      return what == Refused::Start
                 ? fmt::format(
                       "a user may have {} processes and threads here: raise the limit (ulimit -u), or "
                       "close other programs",
                       limit_text(RLIMIT_NPROC))
                 : "";
    case ENOMEM:
      return "close other programs, or use a machine with more memory";
    case EACCES:
    case EPERM:
    case EROFS:
      return what == Refused::Write  ? "name a folder that you may write to"
             : what == Refused::Read ? "you need the permission to read it"
                                     : "you need the permission to run it";
    case ENOENT:
      return what == Refused::Write ? "name a folder that exists" : "";
    default:
      return {};
  }
}

}  // namespace

std::string reason_and_remedy(int error_number, Refused what) {
  const std::string words = std::strerror(error_number), help = remedy(error_number, what);
  return help.empty() ? words : words + "; " + help;
}

}  // namespace shardlens
