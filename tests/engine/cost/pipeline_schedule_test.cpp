// The drawn schedule waits exactly as long as the price says, and nothing runs before its inputs are ready.
#include "engine/cost/pipeline_schedule.h"

#include <gtest/gtest.h>

#include <map>

#include "engine/base/error.h"
#include "engine/config/presets.h"
#include "engine/cost/model_price.h"

namespace shardlens {
namespace pipeline_schedule_test {

TEST(PipelineSchedule, IdlesAsLongAsTheBubblesFormulaSays) {
  for (const int stages : {1, 2, 3, 8}) {
    for (const int parts : {1, 2, 5, 8, 40}) {
      for (const double backward : {2.0, 3.0}) {
        const PipelineSchedule schedule = schedule_pipeline(stages, parts, 1, backward);
        EXPECT_EQ(schedule.slots.size(), static_cast<size_t>(2 * stages * parts));
        EXPECT_NEAR(schedule.idle_share(), static_cast<double>(stages - 1) / (parts + stages - 1), 1e-12)
            << stages << " stages, " << parts << " parts";
      }
    }
  }
}

TEST(PipelineSchedule, IsTheBubbleThatIsPriced) {
  Settings settings;
  settings.block = Block::Model;
  settings.model = model_preset("megatron-8.3b");
  settings.tp = 8;
  settings.dtype = DType::Fp16;
  settings.batch = settings.micro_batches = 24;
  settings.seq = 1024;
  settings.update = true;
  const ModelPrice price = price_model(settings, find_hardware("a100-80gb"), 6);
  EXPECT_NEAR(price.pipeline.bubble_fraction, schedule_pipeline(6, 24, 1, 2).idle_share(), 1e-12);
}

TEST(PipelineSchedule, NothingRunsBeforeWhatItNeedsNorTwoThingsAtOnce) {
  const int stages = 4, parts = 6;
  const PipelineSchedule schedule = schedule_pipeline(stages, parts, 1, 2);
  std::map<std::tuple<int, int, bool>, PipelineSlot> at;
  double last = 0;
  int stage = 0;
  for (const PipelineSlot& slot : schedule.slots) {
    if (slot.stage != stage) last = 0;
    stage = slot.stage;
    EXPECT_GE(slot.begin, last) << "stage " << stage << " does two things at once";
    last = slot.end;
    at[{slot.stage, slot.part, slot.forward}] = slot;
  }
  for (const PipelineSlot& slot : schedule.slots) {
    const int needed = slot.forward ? slot.stage - 1 : slot.stage + 1;
    if (needed >= 0 && needed < stages) {
      EXPECT_GE(slot.begin, (at[{needed, slot.part, slot.forward}].end));
    }
    if (!slot.forward) {
      EXPECT_GE(slot.begin, (at[{stages - 1, slot.part, true}].end));
    }
  }
}

TEST(PipelineSchedule, NoStagesAreRefused) {
  EXPECT_THROW(schedule_pipeline(0, 1, 1, 2), Error);
  EXPECT_THROW(schedule_pipeline(1, 0, 1, 2), Error);
}

}  // namespace pipeline_schedule_test
}  // namespace shardlens
