// Positions have a meaning: lanes hold every rank once, and the ranks' pieces tile the ghost exactly as the
// slices do.
#include "ui/stage/lanes.h"

#include <gtest/gtest.h>

#include "engine/config/presets.h"
#include "engine/planner/planner.h"

namespace shardlens::ui::stage {
namespace lanes_test {

Program program_of(int tp) {
  Settings settings;
  settings.tp = tp;
  settings.batch = 1;
  settings.seq = 16;
  return plan_program(settings);
}

Tensor tensor_of(Shape shape, int row_dims, Layout layout) {
  Tensor tensor;
  tensor.id = 0;
  tensor.shape = std::move(shape);
  tensor.row_dims = row_dims;
  tensor.layout = layout;
  return tensor;
}

float area(const std::vector<Piece>& pieces) {
  float sum = 0;
  for (const Piece& piece : pieces) sum += piece.place.width() * piece.place.height();
  return sum;
}

TEST(StageLanes, EveryRankIsInExactlyOneLane) {
  for (const int tp : {1, 2, 3, 4, 6, 12}) {
    const Program program = program_of(tp);
    for (const float width : {300.f, 470.f, 1040.f, 2500.f}) {
      const std::vector<Lane> lanes = lanes_of(program, width, 10, 84);
      int next = 0;
      for (const Lane& lane : lanes) {
        EXPECT_EQ(lane.first, next);
        EXPECT_GE(lane.last, lane.first);
        next = lane.last + 1;
        EXPECT_GE(lane.width, 60) << "too narrow to read at T = " << tp << ", " << width;
      }
      EXPECT_EQ(next, tp);
      EXPECT_LE(lanes.back().x + lanes.back().width, width + 0.5f);
      for (int rank = 0; rank < tp; ++rank) {
        const Lane& lane = lanes[lane_of(lanes, rank)];
        EXPECT_TRUE(rank >= lane.first && rank <= lane.last);
      }
    }
  }
}

TEST(StageLanes, EightStandAloneAndTwelveAreGrouped) {
  Settings settings;
  settings.model = model_preset("gpt2-medium");
  settings.tp = 8;
  settings.batch = 1;
  settings.seq = 16;
  EXPECT_EQ(lanes_of(plan_program(settings), 1040, 10, 84).size(), 8u);
  const std::vector<Lane> lanes = lanes_of(program_of(12), 2500, 10, 84);
  ASSERT_EQ(lanes.size(), 5u);
  EXPECT_FALSE(lanes[3].group());
  EXPECT_EQ(lanes[4].first, 4);
  EXPECT_EQ(lanes[4].last, 11);
}

TEST(StageLanes, UnevenRanksAreNotCalledAlike) {
  // 20 columns over 12 ranks: the first eight hold two, the others one.
  Program program;
  program.settings.tp = 12;
  program.tensors.push_back(tensor_of({4, 20}, 1, sharded(1)));
  const std::vector<Lane> lanes = lanes_of(program, 1040, 10, 84);
  ASSERT_EQ(lanes.size(), 6u);
  EXPECT_EQ(lanes[4].first, 4);
  EXPECT_EQ(lanes[4].last, 7);
  EXPECT_EQ(lanes[5].first, 8);
  EXPECT_EQ(lanes[5].last, 11);
}

TEST(StagePieces, ShardedPiecesTileTheGhost) {
  const Rect ghost{{10, 20}, {250, 68}};
  for (const Tensor& tensor : {tensor_of({16, 24}, 1, sharded(1)), tensor_of({16, 24}, 1, sharded(0)),
                               tensor_of({16, 3, 6, 4}, 1, sharded(2)), tensor_of({7, 5}, 1, sharded(1))}) {
    for (const int ranks : {1, 2, 3}) {
      float sum = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        for (const Piece& piece : pieces_of(tensor, ranks, rank, ghost)) {
          EXPECT_GE(piece.place.min.x, ghost.min.x - 0.01f);
          EXPECT_LE(piece.place.max.x, ghost.max.x + 0.01f);
          for (int other = 0; other < rank; ++other) {
            for (const Piece& before : pieces_of(tensor, ranks, other, ghost)) {
              const bool apart = before.place.max.x <= piece.place.min.x + 0.01f ||
                                 piece.place.max.x <= before.place.min.x + 0.01f ||
                                 before.place.max.y <= piece.place.min.y + 0.01f ||
                                 piece.place.max.y <= before.place.min.y + 0.01f;
              EXPECT_TRUE(apart);
            }
          }
        }
        sum += area(pieces_of(tensor, ranks, rank, ghost));
      }
      EXPECT_NEAR(sum, ghost.width() * ghost.height(), 1);
    }
  }
}

TEST(StagePieces, AShardedQkvIsThreeStripes) {
  // [tokens, 3, heads, head]: rank 1 of 4 holds the second quarter of Q, of K and of V.
  const Tensor qkv = tensor_of({8, 3, 4, 2}, 1, sharded(2));
  const Rect ghost{{0, 0}, {240, 10}};
  const std::vector<Piece> pieces = pieces_of(qkv, 4, 1, ghost);
  ASSERT_EQ(pieces.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(pieces[i].place.min.x, 80.0f * static_cast<float>(i) + 20, 0.01f);
    EXPECT_NEAR(pieces[i].place.width(), 20, 0.01f);
    EXPECT_NEAR(pieces[i].uv0.x, static_cast<float>(i) / 3, 1e-5f)
        << "the rank's own matrix is Q, K, V side by side";
    EXPECT_NEAR(pieces[i].uv1.x, static_cast<float>(i + 1) / 3, 1e-5f);
  }
}

// Twelve heads over eight ranks, a row for each of 64 ranks, ghosts of a few pixels between two pixels: what
// a rank holds is seen, inside the ghost; what it does not hold has no piece.
TEST(StagePieces, NoPieceVanishesOrLeavesItsGhost) {
  for (const Tensor& tensor : {tensor_of({768, 3, 12, 64}, 1, sharded(2)), tensor_of({3, 5}, 1, sharded(0)),
                               tensor_of({64, 7}, 1, sharded(0)), tensor_of({9, 4096}, 1, sharded(1))}) {
    for (const int ranks : {1, 2, 5, 8, 16, 64}) {
      for (const float size : {1.f, 3.f, 8.4f, 29.5f, 30.6f, 300.f}) {
        for (const float least : {1.f, 2.f}) {
          const Rect ghost{{10.4f, 20.6f}, {10.4f + size, 20.6f + size}};
          const Rect grid = place_in(ghost, {1, 1}, {0, 1}, {0, 1});
          for (int rank = 0; rank < ranks; ++rank) {
            const std::vector<Piece> pieces = pieces_of(tensor, ranks, rank, ghost, least);
            EXPECT_EQ(pieces.empty(), element_count(local_shape(tensor, ranks, rank)) == 0);
            for (const Piece& piece : pieces) {
              EXPECT_GE(piece.place.width(), std::min(least, grid.width())) << rank << " of " << ranks;
              EXPECT_GE(piece.place.height(), std::min(least, grid.height())) << rank << " of " << ranks;
              EXPECT_GE(piece.place.min.x, grid.min.x);
              EXPECT_GE(piece.place.min.y, grid.min.y);
              EXPECT_LE(piece.place.max.x, grid.max.x);
              EXPECT_LE(piece.place.max.y, grid.max.y);
            }
          }
        }
      }
    }
  }
}

TEST(StagePieces, ReplicatedAndPartialFillTheGhost) {
  const Rect ghost{{0, 0}, {100, 40}};
  for (const Layout layout : {kReplicated, kPartial}) {
    for (int rank = 0; rank < 4; ++rank) {
      EXPECT_NEAR(area(pieces_of(tensor_of({8, 8}, 1, layout), 4, rank, ghost)), 4000, 0.1);
    }
  }
}

TEST(StageGhost, WiderTensorsAreWiderAndTheWidestFillsItsRoom) {
  const Rect room{{5, 5}, {205, 49}};
  const Extent largest{1024, 3072};
  const Rect narrow = ghost_of(tensor_of({1024, 768}, 1, kReplicated), largest, room);
  const Rect wide = ghost_of(tensor_of({1024, 3072}, 1, kReplicated), largest, room);
  EXPECT_NEAR(wide.width(), 200, 0.01f);
  EXPECT_LT(narrow.width(), wide.width());
  EXPECT_GT(narrow.width(), 0.3f * wide.width()) << "a narrow tensor keeps room for its pieces";
  EXPECT_FLOAT_EQ(narrow.height(), 44);
}

TEST(StageGhost, WeightsKeepTheirProportionsInsideTheirRoom) {
  const Rect room{{0, 0}, {42, 46}};
  const Rect wide = weight_ghost_of(tensor_of({768, 3072}, 1, kReplicated), room);
  const Rect tall = weight_ghost_of(tensor_of({3072, 768}, 1, kReplicated), room);
  EXPECT_GT(wide.width(), wide.height());
  EXPECT_GT(tall.height(), tall.width());
  for (const Rect& rect : {wide, tall}) {
    EXPECT_GE(rect.min.x, 0);
    EXPECT_LE(rect.max.x, 42.01f);
    EXPECT_LE(rect.max.y, 46.01f);
  }
}

}  // namespace lanes_test
}  // namespace shardlens::ui::stage
