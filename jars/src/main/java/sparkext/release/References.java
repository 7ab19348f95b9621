// SPDX-License-Identifier: Apache-2.0
package sparkext.release;

import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import net.bytebuddy.jar.asm.ClassReader;
import net.bytebuddy.jar.asm.Type;

/**
 * The types and members in the constants of a class file, which the JVM links at first use.
 *
 * @param types the binary names of the types
 * @param members the members
 */
record References(Set<String> types, Set<Member> members) {
  // Tags of constants: Java Virtual Machine Specification, section 4.4.
  private static final int CLASS = 7;
  private static final int FIELD = 9;
  private static final int METHOD = 10;
  private static final int INTERFACE_METHOD = 11;
  private static final int NAME_AND_TYPE = 12;
  private static final int METHOD_TYPE = 16;

  /** A field or method as an instruction names it, by owner, name and descriptor. */
  record Member(String owner, String name, String descriptor, boolean ofInterface)
      implements Comparable<Member> {
    boolean isMethod() {
      return descriptor.startsWith("(");
    }

    @Override
    public int compareTo(Member other) {
      return toString().compareTo(other.toString());
    }

    @Override
    public String toString() {
      return (ofInterface ? "interface " : "") + owner + "." + name + " " + descriptor;
    }
  }

  /** Returns the references of a class file. */
  static References of(byte[] classFile) {
    ClassReader reader = new ClassReader(classFile);
    char[] buffer = new char[reader.getMaxStringLength()];
    References found = new References(new TreeSet<>(), new TreeSet<>());
    for (int item = 1; item < reader.getItemCount(); item++) {
      int at = reader.getItem(item);
      int tag = at == 0 ? 0 : reader.readByte(at - 1); // 0: the second half of a long or a double
      switch (tag) {
        case CLASS -> found.add(Type.getObjectType(reader.readUTF8(at, buffer)));
        case METHOD_TYPE -> found.add(Type.getMethodType(reader.readUTF8(at, buffer)));
        case NAME_AND_TYPE -> found.add(Type.getType(reader.readUTF8(at + 2, buffer)));
        case FIELD, METHOD, INTERFACE_METHOD -> {
          Type owner = Type.getObjectType(reader.readClass(at, buffer));
          int named = reader.getItem(reader.readUnsignedShort(at + 2));
          if (owner.getSort() == Type.OBJECT) {
            found.members.add(
                new Member(
                    owner.getClassName(),
                    reader.readUTF8(named, buffer),
                    reader.readUTF8(named + 2, buffer),
                    tag == INTERFACE_METHOD));
          }
        }
        default -> {} // a text, a number or a module
      }
    }
    return found;
  }

  private void add(Type type) {
    switch (type.getSort()) {
      case Type.OBJECT -> types.add(type.getClassName());
      case Type.ARRAY -> add(type.getElementType());
      case Type.METHOD ->
          Stream.concat(Stream.of(type.getReturnType()), Stream.of(type.getArgumentTypes()))
              .forEach(this::add);
      default -> {} // a primitive type
    }
  }
}
