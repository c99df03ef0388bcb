// What a step costs, counted from the Program without running it: FLOPs, bytes sent, bytes touched, and the
// time an alpha-beta model predicts on a hardware preset. The same steps the executor times, so predicted and
// measured always speak of the same thing.
#pragma once

#include <string>
#include <vector>

#include "engine/config/hardware.h"
#include "engine/program/program.h"

namespace shardlens {

struct StepCost {
  int64_t flops = 0;          ///< this rank's, of matrix products; attention counted as if there were no mask
  int64_t causal_flops = 0;   ///< the same with the masked half of attention left out
  int64_t sent_bytes = 0;     ///< ring figure, collectives only
  int64_t touched_bytes = 0;  ///< read and written by this rank
  double predicted_seconds = 0;  ///< on the hardware preset; 0 when the preset does not say its speed
};

/// A ring of ranks as it lies on a machine: the ranks of a layer are neighbours and fill nodes in order
/// (paper, Figure 8), so a group inside a node keeps to the node's links, and one that does not waits at
/// every hop for the slowest.
struct Ring {
  int ranks = 1;
  bool crosses_nodes = false;
  int sharing = 1;  ///< rings that leave a node beside it and share the node's adapters
};

/// The T ranks of a layer, of which there are D groups.
Ring tp_ring(int tp, int dp, const Hardware& hardware);
/// The D copies of one rank: T apart, so that all rings of a node leave it together.
Ring dp_ring(int tp, int dp, const Hardware& hardware);

/// Alpha and beta of a ring: what was measured for this collective, else the preset's links.
LinkRate link_of(Collective collective, const Ring& ring, const Hardware& hardware);

/// The name under which a measured preset keeps how fast a product's matrices are brought to it, bytes a
/// second: what it takes beside its FLOPs, most of it where few tokens meet large weights.
inline std::string operands_of(const std::string& op) {
  return op + " operands";
}

/// One rank's cost of every step. Where the preset was measured, a step takes what steps of its kind took; a
/// product what its FLOPs and its matrices do.
/// Otherwise a step that computes takes the longer of its FLOPs at the peak of its dtype and its bytes at the
/// memory's bandwidth, so an element-wise step, whose few FLOPs are not counted, is priced by its bytes. A
/// collective takes collective_seconds().
std::vector<StepCost> price(const Program& program, const Hardware& hardware, int rank);

/// The alpha-beta time of a ring collective of which each rank sends `sent_bytes`: an all-reduce makes 2(T-1)
/// hops, the others T-1, each costs alpha, and the bytes pass the slowest link. 0 when the preset does not
/// say its links' speed.
double collective_seconds(Collective collective, int64_t sent_bytes, const Ring& ring,
                          const Hardware& hardware);

/// The hops of a ring of T ranks: 2(T-1) for an all-reduce, T-1 for the others.
int ring_hops(Collective collective, int ranks);

}  // namespace shardlens
