// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.parquet.format.ConvertedType;
import org.apache.parquet.format.FieldRepetitionType;
import org.apache.parquet.format.SchemaElement;

/**
 * The schema of a file as a tree. A footer contains a list, parents before children.
 *
 * @param element a `SchemaElement`
 * @param leaf the number of the column chunk in each row group; -1 for a group
 */
record SchemaTree(SchemaElement element, List<SchemaTree> children, int leaf) {
  /** The schema of a deeper file could overflow the stack. */
  private static final int DEEPEST = 200;

  /** Makes a tree of the list in a footer. */
  static SchemaTree of(List<SchemaElement> elements) throws NotCopyableException {
    Iterator<SchemaElement> rest = elements.iterator();
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

  private static SchemaTree read(Iterator<SchemaElement> rest, int[] leaves, int depth)
      throws NotCopyableException {
    if (depth > DEEPEST) {
      throw new NotCopyableException("its schema has more than " + DEEPEST + " levels");
    }
    if (!rest.hasNext()) {
      throw new NotCopyableException("its schema has fewer elements than it declares");
    }
    SchemaElement element = rest.next();
    if (!ThriftReader.isText(element.getName())) {
      throw new NotCopyableException("its schema has a name that is no text");
    }
    int groupSize = element.getNum_children();
    if (groupSize > 0 == element.isSetType()) {
      throw new NotCopyableException(
          "its schema has an element with both a type and children, or neither");
    }
    if (groupSize <= 0) {
      return new SchemaTree(element, List.of(), leaves[0]++);
    }
    List<SchemaTree> children = new ArrayList<>();
    for (int i = 0; i < groupSize; i++) {
      children.add(read(rest, leaves, depth + 1));
    }
    return new SchemaTree(element, children, -1);
  }

  String name() {
    return element.getName();
  }

  boolean isGroup() {
    return !element.isSetType();
  }

  boolean isRepeated() {
    return element.getRepetition_type() == FieldRepetitionType.REPEATED;
  }

  boolean isList() {
    return element.getConverted_type() == ConvertedType.LIST
        || element.isSetLogicalType() && element.getLogicalType().isSetLIST();
  }

  boolean isMap() {
    return element.getConverted_type() == ConvertedType.MAP
        || element.getConverted_type() == ConvertedType.MAP_KEY_VALUE
        || element.isSetLogicalType() && element.getLogicalType().isSetMAP();
  }

  boolean hasId() {
    return element.isSetField_id();
  }

  /** Returns whether an element at any level has a field id. */
  boolean hasIds() {
    return hasId() || children.stream().anyMatch(SchemaTree::hasIds);
  }

  int id() {
    return element.getField_id();
  }

  /** Returns a copy with another name and other children. */
  SchemaTree as(String name, List<SchemaTree> newChildren) {
    SchemaElement changed = new SchemaElement(element);
    changed.setName(name);
    if (isGroup()) {
      changed.setNum_children(newChildren.size());
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
    copy.element.unsetField_id();
    return copy;
  }

  /** Returns the list that a footer contains. */
  List<SchemaElement> elements() {
    List<SchemaElement> all = new ArrayList<>();
    addTo(all);
    return all;
  }

  private void addTo(List<SchemaElement> all) {
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
