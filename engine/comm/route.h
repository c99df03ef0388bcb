// The hops of a collective: which rank passes which chunk to which rank, as a ring or as a tree. Only the
// rule, as plain data: nothing here moves a byte, and no communicator reads it. The studio draws it, and the
// cost model's ring figures follow from it.
//
// Ring. The tensor has T chunks. In every hop of a reduce-scatter each rank passes one chunk to the next
// rank, which adds its own term. After T - 1 hops rank r has all terms of chunk r. In an all-gather each rank
// passes on the chunk that it received last. An all-reduce is a reduce-scatter and then an all-gather. In an
// all-to-all nothing is added: in hop h each rank sends one piece straight to the rank h places on.
//
// Tree (all-reduce only). The tensor stays whole. In every hop half of the ranks that still take part send
// all they have to a partner, until rank 0 has every term. Then the sum goes back the same way.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/program/layout.h"

namespace shardlens {

enum class Wiring { Ring, Tree };

/// In one hop, one rank passes one chunk to another.
struct Passing {
  int from = 0;
  int to = 0;
  int chunk = 0;
  bool adds = false;  ///< true: `to` adds it to what it has; false: it takes the place of what `to` has
  bool operator==(const Passing&) const = default;
};

struct Route {
  Collective collective = Collective::None;
  Wiring wiring = Wiring::Ring;
  int ranks = 1;
  int chunks = 1;                          ///< T in a ring, 1 in a tree
  int adding_hops = 0;                     ///< the first hops, in which terms are added; the others only copy
  std::vector<std::vector<Passing>> hops;  ///< the passings of one hop happen at the same time
};

/// Returns the hops of a collective over `ranks` ranks. Throws std::logic_error for a collective that sends
/// nothing, and for a tree of anything but an all-reduce.
Route route_of(Collective collective, Wiring wiring, int ranks);

/// What every rank holds: how often each rank's term is in each of its chunks. A term of an all-gather is the
/// piece that its owner has; a term of an all-to-all is the piece that one rank has for another.
class Holdings {
 public:
  explicit Holdings(const Route& route);  ///< before the first hop

  int ranks() const { return ranks_; }
  int chunks() const { return chunks_; }
  int times(int rank, int chunk, int term) const { return times_[at(rank, chunk, term)]; }
  int terms(int rank, int chunk) const;  ///< how many different terms it holds

  /// Makes the passings of a hop, all from what the ranks held before it.
  void pass(const Route& route, const std::vector<Passing>& hop);
  bool operator==(const Holdings&) const = default;

 private:
  size_t at(int rank, int chunk, int term) const {
    return static_cast<size_t>((rank * chunks_ + chunk) * ranks_ + term);
  }

  int ranks_, chunks_;
  std::vector<uint8_t> times_;
};

/// How many terms a complete chunk has: one in an all-gather, else one of each rank.
int terms_when_complete(const Route& route);
/// True if the rank holds each term of the chunk exactly once.
bool is_complete(const Route& route, const Holdings& holdings, int rank, int chunk);
/// True if the rank holds what the collective promises it: every chunk complete after an all-reduce or an
/// all-gather, its own chunk after a reduce-scatter or an all-to-all.
bool has_its_result(const Route& route, const Holdings& holdings, int rank);

/// Returns the bytes that a rank sends in all hops. `chunk_bytes`: of each chunk; in an all-to-all, of the
/// piece that each rank has for the rank of that number.
int64_t sent_by(const Route& route, int rank, std::span<const int64_t> chunk_bytes);

}  // namespace shardlens
