// Makes the colour of a heatmap's value, as Colouring does on the processor (ui/theme/colour_scale.cpp).
uniform sampler2D values;    // one value a texel
uniform sampler2D shades;    // one colour map a row
uniform vec4 not_a_number;   // the colour of NaN

in vec2 texel;
flat in ivec2 drawn;
flat in float limit;
flat in int map;
flat in float opacity;

out vec4 colour;

void main() {
  // Of a block of cells the first is drawn. Blocks begin at whole multiples of their size in a page.
  float value = texelFetch(values, ivec2(texel) & drawn, 0).r;
  // By its bits, because a driver may calculate as if there were no NaN.
  if ((floatBitsToUint(value) & 0x7FFFFFFFu) > 0x7F800000u) {
    colour = vec4(not_a_number.rgb, opacity);
    return;
  }
  float last = float(textureSize(shades, 0).x - 1);
  // Half a shade is added so that truncation rounds.
  float shade = (map == 0 ? 0.5 + 0.5 * value / limit : value / limit) * last + 0.5;
  colour = vec4(texelFetch(shades, ivec2(int(clamp(shade, 0.0, last + 0.5)), map), 0).rgb, opacity);
}
