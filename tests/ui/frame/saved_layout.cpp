// Dear ImGui by itself, without a window.
#include "tests/ui/frame/saved_layout.h"

#include <imgui.h>

namespace shardlens::ui {

std::string saved_layout() {
  return R"([Window][Setup]
Pos=0,38
Size=290,762
Collapsed=0
DockId=0x00000001,0
LastUsed=20261128

[Window][Timeline]
Pos=291,628
Size=909,172
Collapsed=0
DockId=0x00000004,0

[Window][Inspector]
Pos=916,38
Size=284,589
Collapsed=0
DockId=0x00000006,0

[Window][Stage]
Pos=291,38
Size=624,589
Collapsed=0
DockId=0x00000005,1

[Docking][Data]
DockSpace       ID=0xB7A3AAE6 Window=0x47979DB6 Pos=0,38 Size=1200,762 Split=X
  DockNode      ID=0x00000001 Parent=0xB7A3AAE6 SizeRef=290,762 HiddenTabBar=1
  DockNode      ID=0x00000002 Parent=0xB7A3AAE6 SizeRef=909,762 Split=Y
    DockNode    ID=0x00000003 Parent=0x00000002 SizeRef=970,589 Split=X
      DockNode  ID=0x00000005 Parent=0x00000003 SizeRef=624,589 CentralNode=1
      DockNode  ID=0x00000006 Parent=0x00000003 SizeRef=284,589 HiddenTabBar=1
    DockNode    ID=0x00000004 Parent=0x00000002 SizeRef=969,172 HiddenTabBar=1
)";
}

void draw_with_layout(const std::string& layout) {
  ImGuiContext* const before = ImGui::GetCurrentContext();
  ImGuiContext* const gui = ImGui::CreateContext();
  ImGui::SetCurrentContext(gui);
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.ConfigFlags |= ImGuiConfigFlags_DockingEnable;
  io.BackendFlags |= ImGuiBackendFlags_RendererHasTextures;
  io.DisplaySize = {1200, 800};
  ImGui::LoadIniSettingsFromMemory(layout.data(), layout.size());
  for (int frame = 0; frame < 4; ++frame) {
    io.DeltaTime = 1.0F / 60;
    ImGui::NewFrame();
    ImGui::SetNextWindowPos({0, 38});
    ImGui::SetNextWindowSize({1200, 762});
    ImGui::Begin("##dock host", nullptr, ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoSavedSettings);
    ImGui::DockSpace(ImGui::GetID("panels"), {0, 0}, ImGuiDockNodeFlags_AutoHideTabBar);
    ImGui::End();
    for (const char* panel : {"Setup", "Stage", "Inspector", "Timeline"}) {
      ImGui::Begin(panel);
      ImGui::End();
    }
    ImGui::Render();
    for (ImTextureData* texture : ImGui::GetPlatformIO().Textures) texture->SetStatus(ImTextureStatus_OK);
  }
  for (ImTextureData* texture : ImGui::GetPlatformIO().Textures)
    texture->SetStatus(ImTextureStatus_Destroyed);
  ImGui::DestroyContext(gui);
  ImGui::SetCurrentContext(before);
}

}  // namespace shardlens::ui
