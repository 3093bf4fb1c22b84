// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** The vectors that every language runs (tests/vectors/README.md), as methods of Tensor. */
class VectorsTest {
  private static final Object NO_MATCH = new Object();
  private Parameters values;

  @TestFactory
  @SuppressWarnings("unchecked")
  Stream<DynamicTest> everyCase() throws Exception {
    Path folder = Path.of(System.getProperty("org.mtorch.vectors"));
    values = Parameters.readSafetensors(folder.resolve("values.safetensors").toString());
    List<Object> cases =
        (List<Object>) Json.parse(Files.readString(folder.resolve("cases.json")));
    assertTrue(cases.size() > 150);
    return cases.stream()
        .map(one -> (Map<String, Object>) one)
        .map(one -> DynamicTest.dynamicTest((String) one.get("id"), () -> check(one)));
  }

  @SuppressWarnings("unchecked")
  private void check(Map<String, Object> one) throws Exception {
    try (Scope scope = Scope.open()) {
      String id = (String) one.get("id");
      Tensor[] inputs = new Tensor[((Long) one.get("inputs")).intValue()];
      for (int i = 0; i < inputs.length; i++) inputs[i] = values.get(id + "/input" + i).copy();
      List<Object> wanted = (List<Object>) one.get("gradients");
      for (Object i : wanted) inputs[((Long) i).intValue()].requireGrad();
      double tolerance = ((Number) one.get("tolerance")).doubleValue();

      if (one.containsKey("seed")) Generator.seed((Long) one.get("seed"));
      Tensor result = call("operator", one, inputs);
      compare(result, values.get(id + "/result"), tolerance);
      if (wanted.isEmpty()) return;
      result.backward(values.get(id + "/weight"));
      for (Object i : wanted) {
        Tensor gradient = inputs[((Long) i).intValue()].gradient();
        compare(gradient, values.get(id + "/gradient" + i), 10 * tolerance);
      }
    }
  }

  private static void compare(Tensor found, Tensor expected, double tolerance) {
    assertArrayEquals(expected.shape(), found.shape());
    assertEquals(expected.dtype(), found.dtype());
    double[] numbers = expected.toDoubleArray();
    double largest = Math.max(1e-30, Arrays.stream(numbers).map(Math::abs).max().orElse(0));
    assertArrayEquals(numbers, found.toDoubleArray(), tolerance * largest);
  }

  /** Finds the method whose parameters fit: a list of numbers or tensors may go last. */
  @SuppressWarnings("unchecked")
  private static Tensor call(String member, Map<String, Object> one, Tensor[] inputs)
      throws Exception {
    String operator = (String) one.get(member);
    List<Object> arguments = (List<Object>) one.get("arguments");
    List<Object> ordered = new ArrayList<>();
    List<Object> last = new ArrayList<>();
    boolean lone = arguments.stream().filter(List.class::isInstance).count() == 1;
    for (Object argument : arguments) {
      (lone && argument instanceof List ? last : ordered).add(argument);
    }
    ordered.addAll(last);
    String name = camel(operator.replaceFirst("_with$", ""));
    List<Method> all = new ArrayList<>();
    for (Class<?> part : new Class<?>[] {
        Operators.class, SeveralResults.class, Creation.class, Drawing.class}) {
      all.addAll(List.of(part.getDeclaredMethods()));
    }
    for (int i = 0; i < 2 * all.size(); i++) {
      Method method = all.get(i / 2);
      if (!method.getName().equals(name)) continue;
      List<Object> given = new ArrayList<>(i % 2 == 0 ? ordered : arguments);
      Tensor receiver = null;
      if (!Modifier.isStatic(method.getModifiers())) receiver = tensor(given.remove(0), inputs);
      Class<?>[] kinds = method.getParameterTypes();
      if (kinds.length != given.size()) continue;
      Object[] converted = new Object[kinds.length];
      boolean fits = true;
      for (int k = 0; k < kinds.length; k++) {
        converted[k] = convert(kinds[k], given.get(k), inputs);
        fits &= converted[k] != NO_MATCH;
      }
      if (!fits) continue;
      try {
        Object result = method.invoke(receiver, converted);
        Object part = one.getOrDefault("part", 0L);
        return result instanceof Tensor[] several
            ? several[((Long) part).intValue()]
            : (Tensor) result;
      } catch (InvocationTargetException error) {
        throw (Exception) error.getCause();
      }
    }
    return fail("Tensor has no method " + name + " for " + arguments);
  }

  @SuppressWarnings("unchecked")
  private static Tensor tensor(Object value, Tensor[] inputs) throws Exception {
    if (value == null) return null;
    if (value instanceof String name) return inputs[Integer.parseInt(name.substring(1))];
    Map<String, Object> map = (Map<String, Object>) value;
    if (map.containsKey("number")) return Tensor.scalar(((Number) map.get("number")).doubleValue());
    return call("call", map, inputs);
  }

  private static Object convert(Class<?> kind, Object value, Tensor[] inputs) throws Exception {
    if (kind == Tensor.class) {
      boolean fits = value == null || value instanceof String || value instanceof Map;
      return fits ? tensor(value, inputs) : NO_MATCH;
    }
    if (kind == long.class) {
      return value == null ? Index.OPEN : value instanceof Long ? value : NO_MATCH;
    }
    if (kind == double.class) {
      return value instanceof Number number ? number.doubleValue() : NO_MATCH;
    }
    if (kind == boolean.class) return value instanceof Boolean ? value : NO_MATCH;
    if (kind == String.class) {
      return value == null || value instanceof String ? value : NO_MATCH;
    }
    if (kind == Reduction.class) return Reduction.values()[((Long) value).intValue()];
    if (kind == DType.class) {
      if (!(value instanceof Map<?, ?> map)) return NO_MATCH;
      Object name = map.get("dtype");
      if (name != null) return DType.valueOf(((String) name).toUpperCase());
      return tensor(map.get("dtype_of"), inputs).dtype();
    }
    if (value instanceof List<?> list && kind.isArray()) {
      if (kind == long[].class) return list.stream().mapToLong(item -> (Long) item).toArray();
      Object[] items = kind == Index[].class ? new Index[list.size()] : new Tensor[list.size()];
      for (int i = 0; i < items.length; i++) {
        items[i] = kind == Index[].class ? item(list.get(i), inputs) : tensor(list.get(i), inputs);
      }
      return items;
    }
    if (value == null) return null;
    return value instanceof Map<?, ?> members ? options(kind, members) : NO_MATCH;
  }

  private static Index item(Object value, Tensor[] inputs) throws Exception {
    if (value instanceof String word) {
      return word.equals("ellipsis") ? Index.ELLIPSIS : Index.NEW_AXIS;
    }
    Map<?, ?> map = (Map<?, ?>) value;
    if (map.containsKey("at")) return Index.at((Long) map.get("at"));
    if (map.containsKey("by")) return Index.by(tensor(map.get("by"), inputs));
    long[] range =
        ((List<?>) map.get("range"))
            .stream().mapToLong(end -> end == null ? Index.OPEN : (Long) end).toArray();
    return Index.range(range[0], range[1], range[2]);
  }

  private static Object options(Class<?> kind, Map<?, ?> members) throws Exception {
    Object options = kind.getConstructor().newInstance();
    for (Map.Entry<?, ?> member : members.entrySet()) {
      Object value = member.getValue();
      for (Method method : kind.getMethods()) {
        if (!method.getName().equals(camel((String) member.getKey()))) continue;
        method.invoke(options, convert(method.getParameterTypes()[0], value, null));
      }
    }
    return options;
  }

  private static String camel(String name) {
    StringBuilder text = new StringBuilder();
    for (String word : name.split("_")) {
      boolean first = text.length() == 0;
      text.append(first ? word : word.substring(0, 1).toUpperCase() + word.substring(1));
    }
    return text.toString();
  }
}
