// Computes what a step costs, from the Program and without running it: FLOPs, bytes sent, bytes touched, and
// the time that an alpha-beta model predicts on a hardware preset. These are the same steps that the executor
// times, so predicted and measured figures can be compared.
#pragma once

#include <string>
#include <vector>

#include "engine/config/hardware.h"
#include "engine/program/program.h"

namespace shardlens {

struct StepCost {
  int64_t flops = 0;             ///< this rank's, of matrix products; attention counts without its mask
  int64_t causal_flops = 0;      ///< the same without the masked half of attention
  int64_t sent_bytes = 0;        ///< ring figure, collectives only
  int64_t touched_bytes = 0;     ///< read and written by this rank
  double predicted_seconds = 0;  ///< on the hardware preset; 0 if the preset does not state its speed
};

/// The place of a ring of ranks on a machine. The ranks of a layer are neighbours and fill nodes in order
/// (paper, Figure 8). So a group inside one node uses only the node's links. A group over several nodes waits
/// at every hop for the slowest link.
struct Ring {
  int ranks = 1;
  bool crosses_nodes = false;
  int sharing = 1;  ///< rings that leave a node together and share its adapters
};

/// The ring of the T ranks of a layer. There are D such groups.
Ring tp_ring(int tp, int dp, const Hardware& hardware);
/// The ring of the D copies of one rank. They are T ranks apart, so all rings of a node leave it together.
Ring dp_ring(int tp, int dp, const Hardware& hardware);
/// The ring of the group that meets in `step`.
Ring ring_of(const Program& program, const Step& step, const Hardware& hardware);

/// Returns alpha and beta of a ring: those measured for this collective, else those of the preset's links.
LinkRate link_of(Collective collective, const Ring& ring, const Hardware& hardware);

/// Returns the name under which a measured preset stores how fast a product's matrices are read, in bytes a
/// second. A product needs this time in addition to its FLOPs; it is most of the time if few tokens meet
/// large weights.
inline std::string operands_of(const std::string& op) {
  return op + " operands";
}

/// Returns one rank's cost of every step. On a measured preset, a step takes the time measured for steps of
/// its kind, and a product the time of its FLOPs and of its matrices. On another preset, a step that computes
/// takes the longer of two times: its FLOPs at the peak of its dtype, and its bytes at the memory's
/// bandwidth. So an element-wise step, whose few FLOPs are not counted, is priced by its bytes. A collective
/// takes collective_seconds().
std::vector<StepCost> price(const Program& program, const Hardware& hardware, int rank);

/// Returns the alpha-beta time of a ring collective in which each rank sends `sent_bytes`. An all-reduce
/// makes 2(T-1) hops, the others T-1; each hop costs alpha, and the bytes pass the slowest link. Returns 0 if
/// the preset does not state its links' speed.
double collective_seconds(Collective collective, int64_t sent_bytes, const Ring& ring,
                          const Hardware& hardware);

/// Returns the hops of a ring of T ranks: 2(T-1) for an all-reduce, T-1 for the others.
int ring_hops(Collective collective, int ranks);

}  // namespace shardlens
