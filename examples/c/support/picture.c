// SPDX-License-Identifier: Apache-2.0
#include "picture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "picture_internal.h"
#include "png.h"

// Two inks for two kinds of things, the same in every panel; text never wears them.
static const char style[] =
    ":root{color-scheme:light dark;--page:#f6f6f4;--panel:#fff;--text:#16181d;--quiet:#5f6368;"
    "--line:#e3e3df;--axis:#b9bab6;--blue:#2a78d6;--orange:#dd5f1e;--third:#2f8f5b;"
    "--invert:none;--halo:#fff}"
    "@media(prefers-color-scheme:dark){:root{--page:#121315;--panel:#1b1d20;--text:#eceef1;"
    "--quiet:#a2a7ae;--line:#2e3136;--axis:#565b62;--blue:#5a9df0;--orange:#f0804a;"
    "--third:#55b883;--invert:invert(1);--halo:#1b1d20}}"
    "*{box-sizing:border-box}"
    "body{margin:0;padding:16px;background:var(--page);color:var(--text);"
    "font:14px/1.45 system-ui,-apple-system,'Segoe UI','Liberation Sans',sans-serif}"
    "main{max-width:1040px;margin:0 auto}"
    "h1{font-size:22px;line-height:1.25;margin:4px 0 2px}"
    "h2{font-size:15px;margin:0 0 6px}"
    ".subtitle{color:var(--quiet);margin:0 0 14px}"
    ".panels{display:grid;gap:12px;grid-template-columns:repeat(auto-fit,minmax(min(340px,100%),"
    "1fr))}"
    "section{background:var(--panel);border:1px solid var(--line);border-radius:10px;"
    "padding:12px 14px;min-width:0}"
    ".wide{grid-column:1/-1}.tall{grid-row:span 2}"
    "svg{display:block;width:100%;height:auto;max-width:520px;margin:0 auto}"
    "svg text{font-size:13.5px;fill:var(--quiet)}"
    "svg .strong{fill:var(--text);font-weight:600;stroke:var(--halo);stroke-width:3;"
    "paint-order:stroke;stroke-linejoin:round}svg .count{fill:var(--text);font-weight:600}"
    ".none{fill:var(--line);fill-opacity:.35}"
    ".grid{stroke:var(--line)}.axis{stroke:var(--axis)}"
    ".curve{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}"
    ".s0{stroke:var(--blue)}.s1{stroke:var(--orange)}.s2{stroke:var(--third)}"
    ".f0{fill:var(--blue)}.f1{fill:var(--orange)}.f2{fill:var(--third)}"
    ".halo{stroke:var(--halo);stroke-width:1.5}"
    ".legend{display:flex;flex-wrap:wrap;gap:2px 16px;color:var(--quiet);font-size:13px;"
    "margin:0 0 4px}"
    ".key{display:inline-block;width:18px;height:3px;border-radius:2px;margin-right:6px;"
    "vertical-align:middle}.dot{width:10px;height:10px;border-radius:5px}"
    ".b0{background:var(--blue)}.b1{background:var(--orange)}.b2{background:var(--third)}"
    ".figures{display:flex;flex-wrap:wrap;gap:10px 32px}"
    ".figures div{min-width:90px}.figures b{display:block;font-size:22px;line-height:1.2}"
    ".figures span{color:var(--quiet);font-size:13px}"
    ".images{display:flex;flex-wrap:wrap;gap:12px}"
    "figure{margin:0;width:72px;text-align:center;font-size:12px;white-space:nowrap;line-height:1."
    "35}"
    "figure img{display:block;width:72px;height:72px;image-rendering:pixelated;"
    "filter:var(--invert);border:1px solid #ccc;border-radius:4px}"
    "figcaption{margin-top:3px;color:var(--quiet)}figcaption b{color:var(--text)}"
    "pre{margin:0;white-space:pre-wrap;overflow-wrap:anywhere;"
    "font:13px/1.5 ui-monospace,'Liberation Mono',monospace}";

void picture_escaped(picture* p, const char* text, size_t size) {
  for (size_t i = 0; i < size; i++) {
    switch (text[i]) {
      case '<': fputs("&lt;", p->file); break;
      case '>': fputs("&gt;", p->file); break;
      case '&': fputs("&amp;", p->file); break;
      case '"': fputs("&quot;", p->file); break;
      case '\0': break;
      default: fputc(text[i], p->file);
    }
  }
}

void picture_panel(picture* p, const char* title, const char* extent) {
  fprintf(p->file, "<section class='%s'><h2>", extent);
  picture_escaped(p, title, strlen(title));
  fputs("</h2>", p->file);
}

picture* picture_open(const char* path, const char* title, const char* subtitle) {
  picture* p = calloc(1, sizeof *p);
  if (p) {
    p->path = path;
    p->file = fopen(path, "w");
  }
  if (!p || !p->file) {
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    free(p);
    return NULL;
  }
  fputs(
      "<!doctype html><html lang=en><meta charset=utf-8>"
      "<meta name=viewport content='width=device-width,initial-scale=1'><title>",
      p->file);
  picture_escaped(p, title, strlen(title));
  fprintf(p->file, "</title><style>%s</style><main><h1>", style);
  picture_escaped(p, title, strlen(title));
  fputs("</h1><p class=subtitle>", p->file);
  picture_escaped(p, subtitle, strlen(subtitle));
  fputs("</p><div class=panels>\n", p->file);
  return p;
}

bool picture_close(picture* p) {
  if (!p) return false;
  fputs("</div></main></html>\n", p->file);
  bool good = !ferror(p->file) && !p->out_of_memory;
  if (fclose(p->file) != 0) good = false;
  if (!good) {
    fprintf(stderr, "%s: %s\n", p->path, p->out_of_memory ? "out of memory" : "cannot be written");
  }
  free(p);
  return good;
}

void picture_figures(picture* p, const picture_figure* figures, size_t count) {
  if (!p) return;
  fputs("<section class=wide><div class=figures>", p->file);
  for (size_t i = 0; i < count; i++) {
    fputs("<div><span>", p->file);
    picture_escaped(p, figures[i].name, strlen(figures[i].name));
    fputs("</span><b>", p->file);
    picture_escaped(p, figures[i].value, strlen(figures[i].value));
    fputs("</b></div>", p->file);
  }
  fputs("</div></section>\n", p->file);
}

void picture_mistakes(picture* p, const char* title, const picture_image* images, size_t count,
                      uint32_t width, uint32_t height) {
  if (!p) return;
  picture_panel(p, title, "");
  fputs("<div class=images>", p->file);
  uint8_t* rgba = malloc((size_t)width * height * 4);
  for (size_t i = 0; i < count && rgba; i++) {
    for (size_t j = 0; j < (size_t)width * height; j++) {
      uint8_t shade = (uint8_t)(255 - 255 * images[i].pixels[j]);
      rgba[4 * j] = rgba[4 * j + 1] = rgba[4 * j + 2] = shade;
      rgba[4 * j + 3] = 255;
    }
    char* uri = png_data_uri(rgba, width, height);
    if (!uri) p->out_of_memory = true;
    fprintf(p->file,
            "<figure><img alt='an image of a %d' src='%s'><figcaption><b>%d</b> read as <b>%d</b>"
            "</figcaption></figure>",
            images[i].label, uri ? uri : "", images[i].label, images[i].predicted);
    free(uri);
  }
  if (!rgba) p->out_of_memory = true;
  free(rgba);
  if (count == 0) fputs("None.", p->file);
  fputs("</div></section>\n", p->file);
}

void picture_text(picture* p, const char* title, const char* text, size_t size) {
  if (!p) return;
  picture_panel(p, title, "");
  fputs("<pre>", p->file);
  picture_escaped(p, text, size);
  fputs("</pre></section>\n", p->file);
}
