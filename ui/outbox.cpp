// Collects commands. Out of line, so that the units that send need not compile the lists.
#include "ui/outbox.h"

namespace shardlens::ui {

template <class Command>
void OutboxPart<Command>::send(Command command) {
  commands_.push_back(std::move(command));
}

template class OutboxPart<Command>;
template class OutboxPart<TrainCommand>;
template class OutboxPart<BreakCommand>;
template class OutboxPart<ScalingCommand>;
template class OutboxPart<ComparisonCommand>;
template class OutboxPart<DiffCommand>;
template class OutboxPart<ReplayCommand>;
template class OutboxPart<HistoryCommand>;
template class OutboxPart<LessonCommand>;

}  // namespace shardlens::ui
