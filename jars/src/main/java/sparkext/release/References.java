// SPDX-License-Identifier: Apache-2.0
package sparkext.release;

import java.util.Set;
import java.util.TreeSet;
import net.bytebuddy.jar.asm.ClassReader;
import net.bytebuddy.jar.asm.ClassVisitor;
import net.bytebuddy.jar.asm.ConstantDynamic;
import net.bytebuddy.jar.asm.FieldVisitor;
import net.bytebuddy.jar.asm.Handle;
import net.bytebuddy.jar.asm.Label;
import net.bytebuddy.jar.asm.MethodVisitor;
import net.bytebuddy.jar.asm.Opcodes;
import net.bytebuddy.jar.asm.Type;

/** The types and members that the code of a class file names, which the JVM links at first use. */
final class References extends ClassVisitor {
  private final Set<String> types = new TreeSet<>();
  private final Set<Member> members = new TreeSet<>();

  /** A field or method as an instruction names it, by owner, name and descriptor. */
  record Member(String owner, String name, String descriptor, boolean isStatic, boolean ofInterface)
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
      return (isStatic ? "static " : "")
          + (ofInterface ? "interface " : "")
          + owner
          + "."
          + name
          + " "
          + descriptor;
    }
  }

  private References() {
    super(Opcodes.ASM9);
  }

  /** Returns the references of a class file. */
  static References of(byte[] classFile) {
    References references = new References();
    new ClassReader(classFile).accept(references, ClassReader.SKIP_DEBUG);
    return references;
  }

  /** Returns the binary names of the types. */
  Set<String> types() {
    return types;
  }

  Set<Member> members() {
    return members;
  }

  @Override
  public void visit(
      int version,
      int access,
      String name,
      String signature,
      String superName,
      String[] interfaces) {
    add(Type.getObjectType(superName));
    for (String type : interfaces) {
      add(Type.getObjectType(type));
    }
  }

  @Override
  public FieldVisitor visitField(
      int access, String name, String descriptor, String signature, Object value) {
    add(Type.getType(descriptor));
    return null;
  }

  @Override
  public MethodVisitor visitMethod(
      int access, String name, String descriptor, String signature, String[] exceptions) {
    addAll(descriptor);
    return new Instructions();
  }

  private void addAll(String descriptor) {
    add(Type.getReturnType(descriptor));
    for (Type type : Type.getArgumentTypes(descriptor)) {
      add(type);
    }
  }

  private void add(Type type) {
    if (type.getSort() == Type.ARRAY) {
      add(type.getElementType());
    } else if (type.getSort() == Type.OBJECT) {
      types.add(type.getClassName());
    }
  }

  private void add(
      String owner, String name, String descriptor, boolean isStatic, boolean ofInterface) {
    Type type = Type.getObjectType(owner);
    add(type);
    if (type.getSort() == Type.OBJECT) {
      members.add(new Member(type.getClassName(), name, descriptor, isStatic, ofInterface));
    }
  }

  private void addConstant(Object constant) {
    if (constant instanceof Type type && type.getSort() == Type.METHOD) {
      addAll(type.getDescriptor());
    } else if (constant instanceof Type type) {
      add(type);
    } else if (constant instanceof Handle handle) {
      add(
          handle.getOwner(),
          handle.getName(),
          handle.getDesc(),
          handle.getTag() == Opcodes.H_INVOKESTATIC || handle.getTag() == Opcodes.H_GETSTATIC,
          handle.isInterface());
    } else if (constant instanceof ConstantDynamic dynamic) {
      throw new UnsupportedOperationException(dynamic.toString());
    }
  }

  private final class Instructions extends MethodVisitor {
    private Instructions() {
      super(Opcodes.ASM9);
    }

    @Override
    public void visitTypeInsn(int opcode, String type) {
      add(Type.getObjectType(type));
    }

    @Override
    public void visitFieldInsn(int opcode, String owner, String name, String descriptor) {
      boolean isStatic = opcode == Opcodes.GETSTATIC || opcode == Opcodes.PUTSTATIC;
      add(owner, name, descriptor, isStatic, /* ofInterface= */ false);
    }

    @Override
    public void visitMethodInsn(
        int opcode, String owner, String name, String descriptor, boolean isInterface) {
      add(owner, name, descriptor, opcode == Opcodes.INVOKESTATIC, isInterface);
    }

    @Override
    public void visitInvokeDynamicInsn(
        String name, String descriptor, Handle bootstrap, Object... arguments) {
      addAll(descriptor);
      addConstant(bootstrap);
      for (Object argument : arguments) {
        addConstant(argument);
      }
    }

    @Override
    public void visitLdcInsn(Object value) {
      addConstant(value);
    }

    @Override
    public void visitTryCatchBlock(Label start, Label end, Label handler, String type) {
      if (type != null) {
        add(Type.getObjectType(type));
      }
    }
  }
}
