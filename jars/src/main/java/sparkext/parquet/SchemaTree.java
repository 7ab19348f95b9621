// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.parquet.format.ConvertedType;
import org.apache.parquet.format.FieldRepetitionType;
import org.apache.parquet.format.SchemaElement;

/**
 * A file's schema as a tree. A footer has it as a list, parents before children.
 *
 * @param leaf the number of the column chunk in each row group; -1 of a group
 */
record SchemaTree(SchemaElement element, List<SchemaTree> children, int leaf) {
  /** The tree of a footer's list. */
  static SchemaTree of(List<SchemaElement> elements) throws NotCopiedException {
    Iterator<SchemaElement> rest = elements.iterator();
    if (!rest.hasNext()) {
      throw new NotCopiedException("it has no schema");
    }
    int[] leaves = {0};
    SchemaTree root = read(rest, leaves);
    if (rest.hasNext()) {
      throw new NotCopiedException("its schema has more elements than it says");
    }
    return root;
  }

  private static SchemaTree read(Iterator<SchemaElement> rest, int[] leaves)
      throws NotCopiedException {
    if (!rest.hasNext()) {
      throw new NotCopiedException("its schema has fewer elements than it says");
    }
    SchemaElement element = rest.next();
    boolean isGroup = element.getNum_children() > 0;
    if (isGroup == element.isSetType()) {
      throw new NotCopiedException("its schema has a group without a column");
    }
    if (!isGroup) {
      return new SchemaTree(element, List.of(), leaves[0]++);
    }
    List<SchemaTree> children = new ArrayList<>();
    for (int i = 0; i < element.getNum_children(); i++) {
      children.add(read(rest, leaves));
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

  /** A copy with another name and other children. */
  SchemaTree as(String name, List<SchemaTree> newChildren) {
    SchemaElement changed = element.deepCopy();
    changed.setName(name);
    if (isGroup()) {
      changed.setNum_children(newChildren.size());
    }
    return new SchemaTree(changed, newChildren, leaf);
  }

  /** A copy with another name. */
  SchemaTree as(String name) {
    return as(name, children);
  }

  /** A copy without a field id at any level. */
  SchemaTree withoutIds() {
    SchemaTree copy = as(name(), children.stream().map(SchemaTree::withoutIds).toList());
    copy.element.unsetField_id();
    return copy;
  }

  /** What a footer holds. */
  List<SchemaElement> elements() {
    List<SchemaElement> all = new ArrayList<>();
    addTo(all);
    return all;
  }

  private void addTo(List<SchemaElement> all) {
    all.add(element);
    children.forEach(child -> child.addTo(all));
  }

  /** The paths of the leaves by their numbers, the root's name left out. */
  List<Leaf> leaves() {
    List<Leaf> all = new ArrayList<>();
    children.forEach(child -> child.addLeaves(List.of(), all));
    return all;
  }

  private void addLeaves(List<String> parents, List<Leaf> all) {
    List<String> path = new ArrayList<>(parents);
    path.add(name());
    if (leaf >= 0) {
      all.add(new Leaf(leaf, path));
    }
    children.forEach(child -> child.addLeaves(path, all));
  }

  /** A column that has values: its number and its path. */
  record Leaf(int number, List<String> path) {}
}
