// The commands of the tabs that measure, train and break: they start and stop each activity.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <utility>

#include "engine/record/recording.h"
#include "engine/runtime/recordings/replay_snapshot.h"
#include "engine/runtime/session/comparison.h"
#include "engine/runtime/session/scaling_snapshot.h"
#include "engine/train/experiments/break_snapshot.h"
#include "engine/train/experiments/diff_session.h"
#include "engine/train/train_snapshot.h"
#include "ui/commands/command_table.h"
#include "ui/outbox.h"
#include "ui/panels/break_it/break_view.h"
#include "ui/panels/compare/compare_pages.h"
#include "ui/panels/compare/compare_view.h"
#include "ui/panels/faults/faults.h"
#include "ui/panels/recordings/chooser_view.h"
#include "ui/panels/recordings/diff_view.h"
#include "ui/panels/recordings/recordings_parts.h"
#include "ui/panels/recordings/replay_parts.h"
#include "ui/panels/scaling/scaling_view.h"
#include "ui/panels/train/train_view.h"

namespace shardlens::ui {
namespace {

/// True if nothing else computes that would disturb a measurement.
bool may_measure(const Context& context) {
  return why_not_measured(context).empty();
}

/// True if a training has started and no model has made a step yet.
bool begins_training(const Context& context) {
  const auto& curves = context.train.curves;
  return context.train.is_active() && std::all_of(curves.begin(), curves.end(), [](const auto& curve) {
           return curve->steps.empty() && curve->ended.empty();
         });
}

bool is_trained(const Context& context) {
  return context.train.is_active() || context.train.state == TrainState::Paused;
}

}  // namespace

void add_scaling_commands(std::vector<UiCommand>& table) {
  const auto add_page = [&](const char* id, const char* title, const char* help, ScalingPage page,
                            std::vector<ImGuiKeyChord> keys) {
    adder(table, CommandGroup::View)(id, title, help, std::move(keys), [page](const Context& c) {
      show_tab(c, Tab::Scaling);
      c.view.of<ScalingView>().page = page;
    });
  };
  add_page("view.scaling", "Show Scaling", "Weak scaling: the paper, the model and this machine",
           ScalingPage::Weak, {ImGuiMod_Ctrl | ImGuiKey_5});
  add_page("view.scaling_strong", "Show strong scaling", "A fixed model on more and more ranks",
           ScalingPage::Strong, {});
  add_page("view.scaling_heads", "Show scaling over heads", "The same model in fewer or more heads",
           ScalingPage::Heads, {});
  add_page("view.break_even", "Show the break-even at the node's border",
           "When a group of ranks over two nodes is no longer faster", ScalingPage::BreakEven, {});
  add_page("view.cluster", "Show the cluster",
           "T x P x D devices, and a model of up to a trillion parameters", ScalingPage::Cluster, {});
  const auto add = adder(table, CommandGroup::Run);
  add(
      "scaling.measure", "Measure scaling on this machine",
      "Run the layer on one core and on every core: weak, strong and over its heads", {},
      [](const Context& c) {
        if (c.view.tab != Tab::Scaling) show_tab(c, Tab::Scaling);
        c.send(scaling_command::Measure{c.wanted()});
      },
      may_measure);
  add(
      "scaling.calibrate", "Calibrate this machine",
      "Measure its products, memory and collectives, so that times can be predicted for it; the result is "
      "saved",
      {}, [](const Context& c) { c.send(scaling_command::Calibrate{c.wanted().dtype}); }, may_measure);
  add(
      "scaling.stop", "Stop measuring", "Stop the measurement of this machine; its points stay", {},
      [](const Context& c) { c.send(scaling_command::Stop{}); },
      [](const Context& c) { return c.scaling.measures(); });
}

// These commands use the letters of the Run commands with Shift: the same actions for many steps instead of
// one.
void add_train_commands(std::vector<UiCommand>& table) {
  const auto add = adder(table, CommandGroup::Train);
  add(
      "train.start", "Start training", "Train with the choices of the Train tab, from the first step",
      {ImGuiMod_Shift | ImGuiKey_R},
      [](const Context& c) {
        show_tab(c, Tab::Train);
        c.view.of<TrainView>().show_run();
        c.send(c.view.of<TrainView>().wish());
      },
      // The second click of a double click must not start the training again.
      [](const Context& c) { return !begins_training(c); });
  add(
      "train.pause", "Pause training, or go on", "Pause all ranks after this training step, or continue",
      {ImGuiMod_Shift | ImGuiKey_P},
      [](const Context& c) {
        if (c.train.state == TrainState::Paused) {
          c.send(train_command::Resume{});
        } else {
          c.send(train_command::Pause{});
        }
      },
      [](const Context& c) {
        return c.train.state == TrainState::Running || c.train.state == TrainState::Paused;
      });
  add(
      "train.freeze", "Freeze a training step",
      "Pause after the next step and show its Program and every tensor, on the Stage and in the "
      "Inspector",
      {ImGuiMod_Shift | ImGuiKey_F}, [](const Context& c) { c.send(train_command::Freeze{}); },
      [](const Context& c) { return is_trained(c) || c.train.state == TrainState::Done; });
  add(
      "train.let_go", "Back to the plan", "Every panel shows the plan again instead of the training step", {},
      [](const Context& c) { c.send(train_command::LetGo{}); },
      [](const Context& c) { return c.train.frozen != nullptr; });
  add(
      "train.stop", "Stop training", "End the training; its curves stay", {},
      [](const Context& c) { c.send(train_command::Stop{}); }, is_trained);
  add(
      "train.lose_rank", "Lose a rank of the training",
      "In the next step the last rank hangs, like a crashed one: after the time-out in the form the other "
      "ranks report it as lost",
      {},
      [](const Context& c) {
        const Settings& settings = c.train.curves.front()->options.settings;
        const int rank = settings.tp * settings.dp - 1;
        c.send(train_command::LoseRank{rank});
        c.view.said = fmt::format(
            "Rank {} hangs in the next step. The other ranks wait for it and report it as lost after {:g} s. "
            "Set this time with \"Lost after\" in Train before a training begins.",
            rank, settings.timeout_seconds);
      },
      [](const Context& c) {
        if (!is_trained(c) || c.train.curves.empty()) return false;
        const Settings& settings = c.train.curves.front()->options.settings;
        return settings.tp * settings.dp > 1 && settings.timeout_seconds > 0;
      });
  add(
      "train.restart", "Restart training from its last checkpoint",
      "A stopped or failed training continues from its last checkpoint; without one it starts again", {},
      [](const Context& c) {
        show_tab(c, Tab::Train);
        c.send(train_command::Restart{});
      },
      can_restart_training);
  add(
      "train.write", "Have the model write",
      "The trained model continues the prompt of the Train tab's page \"text\" with its present weights", {},
      [](const Context& c) {
        show_tab(c, Tab::Train);
        c.view.of<TrainView>().page = TrainPage::Text;
        c.send(train_command::Write{c.view.of<TrainView>().writing, true});
      },
      [](const Context& c) {
        if (!is_trained(c) && c.train.state != TrainState::Done) return false;
        return !c.train.curves.empty() && c.train.curves.front()->can_write();
      });
  add("train.compare", "Train post-LN against pre-LN",
      "The paper's Figure 7: two models from one seed, LayerNorm after the residual sum and before each "
      "block",
      {}, [](const Context& c) {
        show_tab(c, Tab::Train);
        c.view.of<TrainView>().comparison = true;
        c.view.of<TrainView>().show_run();
        c.send(c.view.of<TrainView>().wish());
      });
}

// One command for each fault, so it can be started by name from anywhere.
void add_break_commands(std::vector<UiCommand>& table) {
  adder(table, CommandGroup::View)(
      "view.break_it", "Show Break it", "Plant a classic mistake and see what it does",
      {ImGuiMod_Ctrl | ImGuiKey_9}, [](const Context& c) { show_tab(c, Tab::BreakIt); });
  const auto add = adder(table, CommandGroup::Train);
  for (const Fault fault : all_faults()) {
    const FaultFacts& facts = facts_of(fault);
    add(std::string("break.") + facts.name, std::string("Break it: ") + facts.name, facts.sentence, {},
        [fault](const Context& c) {
          show_tab(c, Tab::BreakIt);
          plant(c, plantable(c, fault).value_or(c.wanted()), fault);
        });
  }
  add("break.off", "Switch the mistake off", "Every panel shows the run of the settings again (Esc)", {},
      take_back, [](const Context& c) { return c.breaks.planted.has_value(); });
  add(
      "break.stop", "Stop breaking", "Stop the sound and the broken run; their results stay", {},
      [](const Context& c) { c.send(break_command::Stop{}); },
      [](const Context& c) { return c.breaks.is_active(); });
}

/// Commands that compare two recordings.
static void add_recordings_commands(std::vector<UiCommand>& table) {
  const auto show = [](const Context& c) {
    c.view.of<CompareView>().page = ComparePage::Recordings;
    show_tab(c, Tab::Compare);
  };
  const auto replays = [](const Context& c) { return c.replay.is_open(); };
  const auto add = adder(table, CommandGroup::Replay);
  add("compare.recordings", "Compare two recordings",
      "Where do two runs first differ, and what takes longer? Two files, or a file and a run here", {}, show);
  add(
      "compare.open_with", "Compare the open recording with another …",
      "Choose a second file to compare with the open one", {},
      [show](const Context& c) {
        show(c);
        c.view.of<DiffView>().a = c.replay.recording->path;
        choose_recording(c, ChosenFor::CompareB);
      },
      replays);
  add(
      "compare.open_here", "Compare the open recording with a run here",
      "Run its settings on this machine and show where the values first differ", {},
      [show](const Context& c) {
        show(c);
        c.view.of<DiffView>().a = c.replay.recording->path;
        c.view.of<DiffView>().b_here = true;
        c.view.of<DiffView>().asked.reset();
      },
      [](const Context& c) { return c.replay.is_open() && !is_training(c.replay.recording->verb); });
  add(
      "compare.swap", "Exchange the compared recordings", "A becomes B, and B becomes A", {},
      [show](const Context& c) {
        show(c);
        std::swap(c.view.of<DiffView>().a, c.view.of<DiffView>().b);
      },
      [](const Context& c) {
        const DiffView& diff = c.view.of<DiffView>();
        return !diff.b_here && !diff.a.empty() && !diff.b.empty();
      });
  add(
      "compare.parting", "Show where the two recordings part",
      "Open A at the pass and the step of the first tensor that differs", {},
      [](const Context& c) { show_parting(c, *c.diff.compared, false); },
      [](const Context& c) { return c.diff.compared != nullptr && c.diff.compared->diff.parting; });
}

void add_compare_commands(std::vector<UiCommand>& table) {
  const auto add = adder(table, CommandGroup::Run);
  add(
      "compare.sweep", "Sweep T",
      "Run every T up to 16 that the model allows and compare each with T = 1: weights, collectives, error "
      "and time in one table",
      {},
      [](const Context& c) {
        c.view.of<CompareView>().page = ComparePage::Sweep;
        show_tab(c, Tab::Compare);
        c.send(comparison_command::SweepDegrees{c.wanted(), swept_degrees(c.wanted())});
      },
      may_measure);
  add(
      "compare.measure", "Measure the splits side by side",
      "Run the splits of the Compare tab here, several rounds of each in turn", {},
      [](const Context& c) {
        c.view.of<CompareView>().page = ComparePage::Splits;
        show_tab(c, Tab::Compare);
        c.send(comparison_command::RunSplits{});
      },
      [](const Context& c) { return may_measure(c) && c.comparison.trials != nullptr; });
  add(
      "compare.stop", "Stop comparing", "Stop the measurement in the Compare tab; finished results stay", {},
      [](const Context& c) {
        if (c.comparison.measuring) c.send(comparison_command::Stop{});
        if (c.diff.busy) c.send(diff_command::Stop{});
      },
      [](const Context& c) { return c.comparison.measuring || c.diff.busy; });
  add_recordings_commands(table);
}

}  // namespace shardlens::ui
