// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The schema of a file as a tree. A footer contains a list, parents before children.
 *
 * @param element a `SchemaElement`
 * @param leaf the number of the column chunk in each row group; -1 for a group
 */
record SchemaTree(ThriftStruct element, List<SchemaTree> children, int leaf) {
  private static final int REPEATED = 2; // a FieldRepetitionType
  private static final int CONVERTED_MAP = 1; // a ConvertedType, as the next two
  private static final int CONVERTED_MAP_KEY_VALUE = 2;
  private static final int CONVERTED_LIST = 3;
  private static final int LOGICAL_MAP = 2; // a member of LogicalType, as the next
  private static final int LOGICAL_LIST = 3;

  /** The schema of a deeper file could overflow the stack. */
  private static final int DEEPEST = 200;

  /** Makes a tree of the list in a footer. */
  static SchemaTree of(List<ThriftStruct> elements) throws NotCopyableException {
    Iterator<ThriftStruct> rest = elements.iterator();
    if (!rest.hasNext()) {
      throw new NotCopyableException("it has no schema");
    }
    int[] leaves = {0};
    SchemaTree root = read(rest, leaves, /* depth= */ 0);
    if (rest.hasNext()) {
      throw new NotCopyableException("its schema has more elements than it declares");
    }
    return root;
  }

  private static SchemaTree read(Iterator<ThriftStruct> rest, int[] leaves, int depth)
      throws NotCopyableException {
    if (depth > DEEPEST) {
      throw new NotCopyableException("its schema has more than " + DEEPEST + " levels");
    }
    if (!rest.hasNext()) {
      throw new NotCopyableException("its schema has fewer elements than it declares");
    }
    ThriftStruct element = rest.next();
    if (!element.isText(FooterFormat.NAME)) {
      throw new NotCopyableException("its schema has a name that is no text");
    }
    long groupSize = element.numberOrZero(FooterFormat.CHILDREN);
    if (groupSize > 0 == element.has(FooterFormat.TYPE)) {
      throw new NotCopyableException(
          "its schema has an element with both a type and children, or neither");
    }
    if (groupSize <= 0) {
      return new SchemaTree(element, List.of(), leaves[0]++);
    }
    List<SchemaTree> children = new ArrayList<>();
    for (long i = 0; i < groupSize; i++) {
      children.add(read(rest, leaves, depth + 1));
    }
    return new SchemaTree(element, children, -1);
  }

  String name() {
    return element.text(FooterFormat.NAME);
  }

  boolean isGroup() {
    return !element.has(FooterFormat.TYPE);
  }

  boolean isRepeated() {
    return element.has(FooterFormat.REPETITION, REPEATED);
  }

  boolean isList() {
    return element.has(FooterFormat.CONVERTED_TYPE, CONVERTED_LIST) || hasLogical(LOGICAL_LIST);
  }

  boolean isMap() {
    return element.has(FooterFormat.CONVERTED_TYPE, CONVERTED_MAP)
        || element.has(FooterFormat.CONVERTED_TYPE, CONVERTED_MAP_KEY_VALUE)
        || hasLogical(LOGICAL_MAP);
  }

  private boolean hasLogical(int member) {
    return element.has(FooterFormat.LOGICAL_TYPE)
        && element.struct(FooterFormat.LOGICAL_TYPE).has(member);
  }

  boolean hasId() {
    return element.has(FooterFormat.FIELD_ID);
  }

  /** Returns whether an element at any level has a field id. */
  boolean hasIds() {
    return hasId() || children.stream().anyMatch(SchemaTree::hasIds);
  }

  int id() {
    return (int) element.number(FooterFormat.FIELD_ID);
  }

  /** Returns a copy with another name and other children. */
  SchemaTree as(String name, List<SchemaTree> newChildren) {
    ThriftStruct changed = element.copy();
    changed.put(FooterFormat.NAME, name);
    if (isGroup()) {
      changed.put(FooterFormat.CHILDREN, (long) newChildren.size());
    }
    return new SchemaTree(changed, newChildren, leaf);
  }

  /** Returns a copy with another name. */
  SchemaTree as(String name) {
    return as(name, children);
  }

  /** Returns a copy without field ids at any level. */
  SchemaTree withoutIds() {
    SchemaTree copy = as(name(), children.stream().map(SchemaTree::withoutIds).toList());
    copy.element.remove(FooterFormat.FIELD_ID);
    return copy;
  }

  /** Returns the list that a footer contains. */
  List<ThriftStruct> elements() {
    List<ThriftStruct> all = new ArrayList<>();
    addTo(all);
    return all;
  }

  private void addTo(List<ThriftStruct> all) {
    all.add(element);
    children.forEach(child -> child.addTo(all));
  }

  /** Returns the paths of the columns that have chunks, without the root, by their numbers. */
  Map<Integer, List<String>> leafPaths() {
    Map<Integer, List<String>> paths = new LinkedHashMap<>();
    children.forEach(child -> child.addLeafPaths(List.of(), paths));
    return paths;
  }

  private void addLeafPaths(List<String> parents, Map<Integer, List<String>> paths) {
    List<String> path = new ArrayList<>(parents);
    path.add(name());
    if (leaf >= 0) {
      paths.put(leaf, path);
    }
    children.forEach(child -> child.addLeafPaths(path, paths));
  }
}
