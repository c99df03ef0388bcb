// OpenGL 3.3 as the studio sees it, in a page WebGL 2: one loader for the platform, the GUI's renderer and
// our own shaders.
#pragma once

#if defined(__EMSCRIPTEN__)
#include <GLES3/gl3.h>
#else
#include <glad/gl.h>
#endif

namespace shardlens {

/// Finds a function of the driver by its name.
using GlFunction = void (*)();
using GlLoader = GlFunction (*)(const char* name);

/// Finds all functions. Throws a run Error if the driver's OpenGL is too old. In a page they are there
/// already.
void load_gl(GlLoader load);

/// The first line of every shader, its language; and the lines that language needs after it.
extern const char* const kShaderLanguage;
extern const char* const kShaderHead;

/// The format and type of a picture's pixels that is copied to a window fastest.
extern const GLenum kWindowFormat, kWindowType;

/// What to do where the driver cannot draw the studio.
extern const char* const kOtherDriver;

}  // namespace shardlens
