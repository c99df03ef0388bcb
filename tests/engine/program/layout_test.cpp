// Which collective converts one layout into another, how many bytes it sends, and how shards tile a tensor.
#include "engine/program/layout.h"
#include "tests/engine/counts.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace shardlens {
namespace layout_test {

TEST(Layout, EveryConversionNamesOneCollective) {
  EXPECT_EQ(conversion(kPartial, kReplicated), Collective::AllReduce);
  EXPECT_EQ(conversion(kPartial, sharded(1)), Collective::ReduceScatter);
  EXPECT_EQ(conversion(sharded(0), kReplicated), Collective::AllGather);
  EXPECT_EQ(conversion(kReplicated, sharded(2)), Collective::Slice);
  EXPECT_EQ(conversion(sharded(0), sharded(1)), Collective::AllToAll);
  EXPECT_EQ(conversion(sharded(1), sharded(1)), Collective::None);
  EXPECT_EQ(conversion(kReplicated, kReplicated), Collective::None);
}

TEST(Layout, NothingConvertsIntoPartial) {
  EXPECT_THROW(conversion(kReplicated, kPartial), std::logic_error);
  EXPECT_THROW(conversion(sharded(0), kPartial), std::logic_error);
}

TEST(Layout, GradientOfAPartialTensorIsReplicated) {
  EXPECT_EQ(gradient_layout(kPartial), kReplicated);
  EXPECT_EQ(gradient_layout(kReplicated), kReplicated);
  EXPECT_EQ(gradient_layout(sharded(2)), sharded(2));
}

TEST(Layout, RingBytesOfTheChaptersExercise) {
  // hidden 4096, sequence 2048, batch 4, T 8, fp16
  const int64_t full_bytes = int64_t{4} * 2048 * 4096 * 2;
  EXPECT_EQ(ring_sent_bytes(Collective::AllReduce, full_bytes, 8), 117'440'512);
  EXPECT_EQ(ring_sent_bytes(Collective::ReduceScatter, full_bytes, 8), 58'720'256);
  EXPECT_EQ(ring_sent_bytes(Collective::AllGather, full_bytes, 8), 58'720'256);
  EXPECT_EQ(ring_sent_bytes(Collective::AllToAll, full_bytes, 8), 7'340'032);
  EXPECT_EQ(ring_sent_bytes(Collective::Slice, full_bytes, 8), 0);
  EXPECT_EQ(ring_sent_bytes(Collective::AllReduce, full_bytes, 1), 0);
}

TEST(Layout, ShardsTileAnyExtentWithoutGapOrOverlap) {
  for (int64_t extent : {0, 1, 5, 12, 768, 50257}) {
    for (int ranks : {1, 2, 3, 7, 8, 64}) {
      int64_t next = 0;
      int64_t longest = 0, shortest = extent;
      for (int rank = 0; rank < ranks; ++rank) {
        const Range range = shard_range(extent, ranks, rank);
        EXPECT_EQ(range.begin, next);
        next = range.end;
        longest = std::max(longest, range.size());
        shortest = std::min(shortest, range.size());
      }
      EXPECT_EQ(next, extent);
      EXPECT_LE(longest - shortest, 1);
    }
  }
}

TEST(Layout, SlicingSeesAShapeFromItsCutDimension) {
  const Slicing axis = slicing({1024, 3, 12, 64}, 2);
  EXPECT_EQ(axis.outer, 1024 * 3);
  EXPECT_EQ(axis.extent, 12);
  EXPECT_EQ(axis.inner, 64);
  EXPECT_EQ(shard_count(axis, 5, 0), 1024 * 3 * 3 * 64);  // 12 over 5: 3, 3, 2, 2, 2
  EXPECT_EQ(shard_count(axis, 5, 4), 1024 * 3 * 2 * 64);
}

TEST(Layout, ASliceMayBePaddedOrHeldByNeighbours) {
  Layout padded = sharded(1), copied = sharded(1);
  padded.padded = true;
  copied.copies = 2;
  EXPECT_EQ(slice_of(padded, 5, 4, 3), (Range{4, 5}));
  EXPECT_EQ(slice_room(padded, 5, 4, 3), 2);
  EXPECT_EQ(slice_room(sharded(1), 5, 4, 3), 1);
  EXPECT_EQ(slice_of(copied, 6, 4, 1), (Range{0, 3}));
  EXPECT_EQ(slice_of(copied, 6, 4, 2), (Range{3, 6}));
  // Each holder makes a term of the slice's gradient, and the holders sum them.
  const Layout term = gradient_layout(copied);
  EXPECT_EQ(term.kind, LayoutKind::Partial);
  EXPECT_EQ(conversion(term, copied), Collective::AllReduce);
  EXPECT_EQ(to_string(padded), "Sharded(1, padded)");
  EXPECT_EQ(to_string(copied), "Sharded(1, 2 copies)");
  EXPECT_EQ(to_string(term), "Partial(1, 2 copies)");
}

TEST(Layout, Words) {
  EXPECT_EQ(to_string(sharded(1)), "Sharded(1)");
  EXPECT_EQ(to_string(kPartial), "Partial");
  EXPECT_EQ(to_string(Shape{4, 256}), "[4, 256]");
  EXPECT_EQ(to_string(Collective::ReduceScatter), "reduce-scatter");
}

}  // namespace layout_test
}  // namespace shardlens
