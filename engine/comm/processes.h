// The processes that a run is spread over, and messages between them: the few operations that are needed from
// MPI. The implementation over MPI is a plug-in (mpi.cpp), so no other part needs MPI to be installed. The
// tests carry messages between threads instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace shardlens {

/// Any thread may call these. Messages of one tag from one process to another arrive in the order they were
/// sent. No call blocks: a send or a receive returns a ticket, which is polled until it is done. If the
/// messages cannot be carried, calls throw a std::runtime_error.
class Processes {
 public:
  virtual ~Processes() = default;

  virtual int index() const = 0;  ///< of this process, from 0
  virtual int count() const = 0;
  virtual std::string host() const = 0;     ///< the machine this process is on
  virtual std::string carrier() const = 0;  ///< "Open MPI 4.1.4"

  using Ticket = std::uint64_t;
  static constexpr size_t kMostBytes = size_t{1} << 30;  ///< of one message

  /// The bytes must not change until the ticket is done.
  virtual Ticket send(int to, int tag, const void* bytes, size_t count) = 0;
  /// Receives a message of exactly `count` bytes.
  virtual Ticket receive(int from, int tag, void* bytes, size_t count) = 0;
  /// Returns true once; after that the ticket is used up.
  virtual bool is_done(Ticket ticket) = 0;
  /// Uses the ticket up. A receive writes nothing from now on. The process at the other end waits in vain.
  virtual void give_up(Ticket ticket) = 0;

  struct Incoming {
    int from = 0;
    size_t count = 0;  ///< bytes
  };
  /// Returns a message that can be received at once, if there is one. Only one thread per tag may ask.
  virtual std::optional<Incoming> incoming(int tag) = 0;

  /// Ends together with the other processes; the last call. False: they did not all come in `seconds`. A
  /// thread that waits for them is then left behind, so this process must end without destroying what that
  /// thread uses (std::_Exit).
  virtual bool end(double seconds) { return (void)seconds, true; }
};

/// The function that the plug-in exports: it returns this process among those that mpirun started, once all
/// of them are there. Its extern "C" name is shardlens_mpi_processes.
using OpenMpiProcesses = Processes* (*)(double timeout_seconds);

/// Opens the plug-in and waits for the other processes. Throws a request Error if this build or this machine
/// has no MPI, or if one of the processes does not come in time.
std::unique_ptr<Processes> open_mpi_processes(double timeout_seconds);

}  // namespace shardlens
