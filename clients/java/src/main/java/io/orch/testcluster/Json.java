package io.orch.testcluster;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads the JSON that orch prints, so that this library needs no other. */
final class Json {
  private final String text;
  private int at;

  private Json(String text) {
    this.text = text;
  }

  @SuppressWarnings("unchecked")
  static Map<String, Object> object(String text) {
    return (Map<String, Object>) new Json(text).value();
  }

  private Object value() {
    switch (peek()) {
      case '{':
        return members();
      case '[':
        return items();
      case '"':
        return string();
      default:
        return word();
    }
  }

  private Map<String, Object> members() {
    Map<String, Object> members = new LinkedHashMap<>();
    for (at++; peek() != '}'; skip(',')) {
      String name = string();
      skip(':');
      members.put(name, value());
    }
    at++;
    return members;
  }

  private List<Object> items() {
    List<Object> items = new ArrayList<>();
    for (at++; peek() != ']'; skip(',')) items.add(value());
    at++;
    return items;
  }

  private String string() {
    StringBuilder read = new StringBuilder();
    peek();
    for (at++; text.charAt(at) != '"'; at++) {
      char next = text.charAt(at);
      if (next != '\\') {
        read.append(next);
        continue;
      }
      char escaped = text.charAt(++at);
      int plain = "nrtbf".indexOf(escaped);
      if (escaped == 'u') {
        read.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16));
        at += 4;
      } else {
        read.append(plain < 0 ? escaped : "\n\r\t\b\f".charAt(plain));
      }
    }
    at++;
    return read.toString();
  }

  /** A number, true, false or null. */
  private Object word() {
    int from = at;
    while (at < text.length() && ",]} \n".indexOf(text.charAt(at)) < 0) at++;
    String word = text.substring(from, at);
    if (word.equals("null")) return null;
    if (word.equals("true") || word.equals("false")) return Boolean.valueOf(word);
    return Double.valueOf(word);
  }

  private void skip(char separator) {
    if (peek() == separator) at++;
  }

  private char peek() {
    while (Character.isWhitespace(text.charAt(at))) at++;
    return text.charAt(at);
  }
}
