// Places a heatmap's rectangle and unpacks its look from the vertex colour (ui/platform/value_shader.cpp).
uniform mat4 projection;
uniform sampler2D values;

layout(location = 3) in vec2 position;
layout(location = 4) in vec2 place;  // in the page, from 0 to 1
layout(location = 5) in uint look;

out vec2 texel;
flat out ivec2 drawn;   // the bits of a texel's column and row that are kept
flat out float limit;   // of the colour scale
flat out int map;       // row in the texture of shades
flat out float opacity;

void main() {
  texel = place * vec2(textureSize(values, 0));
  limit = uintBitsToFloat((look & 0x7FFFFu) << 12);
  drawn = ivec2(-1) << ivec2(look >> 19 & 3u, look >> 21 & 3u);
  map = int(look >> 23 & 1u);
  opacity = float(look >> 24) / 255.0;
  gl_Position = projection * vec4(position, 0.0, 1.0);
}
