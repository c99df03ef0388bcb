// The exception for errors that a user can meet. (A std::logic_error is a mistake in the program.) An error
// is part of the interface: its message says what was wrong, where, and what would work. Its kind decides the
// exit code of the command line: 2 for a wrong request, 3 for a failed run.
#pragma once

#include <stdexcept>
#include <string>

#include "engine/base/shown.h"

namespace shardlens {

enum class ErrorKind {
  Request,    ///< the request was wrong; the message names the remedy (exit code 2)
  Run,        ///< the run failed: a rank threw, a file broke, memory ran out (exit code 3)
  Cancelled,  ///< a person asked the run to stop; nothing is wrong (exit code 3 on the command line)
};

class Error : public std::runtime_error {
 public:
  /// what() is `message` as a person may see it (message_text() in shown.h): a message can hold what was read
  /// from a file.
  Error(ErrorKind kind, const std::string& message)
      : std::runtime_error(message_text(message)), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

/// A wrong request. `message` must say what would work instead.
inline Error request_error(const std::string& message) {
  return Error(ErrorKind::Request, message);
}
/// A run that failed although the request was right.
inline Error run_error(const std::string& message) {
  return Error(ErrorKind::Run, message);
}

}  // namespace shardlens
