// The processes a run is spread over, and messages between them: the little that is asked of MPI. Who carries
// them is a module (mpi.cpp), so that nothing else needs MPI to be there; the tests carry them between
// threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace shardlens {

/// Any thread may call. Messages of one tag from one process to another arrive in the order they were sent
/// in. Nothing blocks: a send or a receive is a ticket, asked about until it is done. A failure of what
/// carries the messages is a std::runtime_error.
class Processes {
 public:
  virtual ~Processes() = default;

  virtual int index() const = 0;  ///< of this process, from 0
  virtual int count() const = 0;
  virtual std::string host() const = 0;     ///< the machine this process is on
  virtual std::string carrier() const = 0;  ///< "Open MPI 4.1.4"

  using Ticket = std::uint64_t;
  static constexpr size_t kMostBytes = size_t{1} << 30;  ///< of one message

  /// The bytes stay as they are until it is done.
  virtual Ticket send(int to, int tag, const void* bytes, size_t count) = 0;
  /// Of exactly so many bytes.
  virtual Ticket receive(int from, int tag, void* bytes, size_t count) = 0;
  /// True once: then the ticket is used up.
  virtual bool is_done(Ticket ticket) = 0;
  /// Uses the ticket up: of a receive nothing is written from now on. Who waits for it waits in vain.
  virtual void give_up(Ticket ticket) = 0;

  struct Incoming {
    int from = 0;
    size_t count = 0;  ///< bytes
  };
  /// A message that can be received at once, if there is one. One thread a tag asks for it.
  virtual std::optional<Incoming> incoming(int tag) = 0;

  /// Ends together with the other processes; the last call. False: they did not all come in `seconds`, and
  /// what waits for them is left behind, so that this process must end without tearing down what it uses
  /// (std::_Exit).
  virtual bool end(double seconds) { return (void)seconds, true; }
};

/// What the module gives: this process among those that mpirun started, once all of them are there. Its
/// extern "C" name is shardlens_mpi_processes.
using OpenMpiProcesses = Processes* (*)(double timeout_seconds);

/// Opens the module and waits for the other processes. Throws a request Error when this build or this machine
/// has no MPI, and when one of the processes does not come in time.
std::unique_ptr<Processes> open_mpi_processes(double timeout_seconds);

}  // namespace shardlens
