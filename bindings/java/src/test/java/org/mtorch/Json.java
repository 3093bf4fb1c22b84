// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads JSON, as far as the vectors use it: Map, List, String, Double, Long, Boolean, null. */
final class Json {
  private final String text;
  private int at;

  private Json(String text) {
    this.text = text;
  }

  static Object parse(String text) {
    return new Json(text).value();
  }

  private char next() {
    while (Character.isWhitespace(text.charAt(at))) at++;
    return text.charAt(at);
  }

  private boolean take(char wanted) {
    if (next() != wanted) return false;
    at++;
    return true;
  }

  private void expect(char wanted) {
    if (!take(wanted)) throw new IllegalArgumentException("no " + wanted + " at " + at);
  }

  private Object value() {
    switch (next()) {
      case '{':
        return object();
      case '[':
        return list();
      case '"':
        return string();
      default:
        int start = at;
        while (at < text.length() && "+-.".indexOf(text.charAt(at)) >= 0
            || Character.isLetterOrDigit(text.charAt(at))) at++;
        String word = text.substring(start, at);
        if (word.equals("null")) return null;
        if (word.equals("true") || word.equals("false")) return word.equals("true");
        if (word.matches("-?\\d+")) return Long.valueOf(word);
        return Double.valueOf(word);
    }
  }

  private Map<String, Object> object() {
    Map<String, Object> members = new LinkedHashMap<>();
    expect('{');
    while (!take('}')) {
      next();
      String name = string();
      expect(':');
      members.put(name, value());
      take(',');
    }
    return members;
  }

  private List<Object> list() {
    List<Object> items = new ArrayList<>();
    expect('[');
    while (!take(']')) {
      items.add(value());
      take(',');
    }
    return items;
  }

  private String string() {
    int start = ++at;
    while (text.charAt(at) != '"') at++;
    String found = text.substring(start, at++);
    if (found.indexOf('\\') >= 0) throw new IllegalArgumentException("an escape in " + found);
    return found;
  }
}
