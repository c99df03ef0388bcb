// OpenGL 3.3 as the studio sees it: one loader for the platform, the GUI's renderer and our own shaders.
#pragma once

#include <glad/gl.h>
