// Words for what the system refused.
#include "engine/io/file_problem.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <typeinfo>

#include "engine/base/error.h"

namespace shardlens {
namespace {

/// Returns the limit that is in force as a number, or "unlimited".
std::string limit_text(decltype(RLIMIT_FSIZE) resource) {
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

std::string message_of(const std::exception& error) {
  // The programs throw one with words of its own (app/command_line/out_of_memory.h).
  if (typeid(error) == typeid(std::bad_alloc))
    return "there is not enough memory: choose smaller sizes or a smaller model";
  const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&error);
  if (file == nullptr) return error.what();
  const int reason = file->code().value();
  const bool is_barred = reason == EACCES || reason == EPERM;  // read or written: not known here
  return fmt::format("{}: {}", file->path1().string(),
                     is_barred ? fmt::format("{}; name a place that you may use", std::strerror(reason))
                               : reason_and_remedy(reason));
}

void make_folder(const std::filesystem::path& folder) {
  if (folder.empty()) return;
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  std::error_code unknown;
  if (std::filesystem::is_directory(folder, unknown)) return;
  // Of a path through a file or of an empty link the system says no more than that.
  const bool is_file = std::filesystem::exists(std::filesystem::symlink_status(folder, unknown));
  const std::string why = is_file                     ? "a file of that name exists; name another folder"
                          : !failed                   ? "another program removed it"
                          : failed.value() == ENOTDIR ? "a part of that path is a file; name another folder"
                                                      : reason_and_remedy(failed.value());
  throw request_error(fmt::format("cannot make the folder {}: {}", folder.string(), why));
}

}  // namespace shardlens
