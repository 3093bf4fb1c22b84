// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.ReadOnlyBufferException;
import org.junit.jupiter.api.Test;

class MemoryTest {
  private static ByteBuffer direct(int bytes) {
    return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
  }

  @Test
  void directBuffersAreLookedAtWithoutACopy() {
    FloatBuffer memory = direct(16).asFloatBuffer().put(new float[] {1, 2, 3, 4}).flip();
    Tensor x = Tensor.wrap(memory, 2, 2);
    assertEquals(10, x.sum().item());
    memory.position(1);
    assertArrayEquals(new float[] {2, 3, 4}, Tensor.wrap(memory, 3).toFloatArray());
    ByteBuffer bytes = direct(4);
    Tensor mutable = Tensor.wrapMutable(bytes, DType.INT32, 1);
    assertEquals(0, mutable.add(0).itemLong());
    bytes.putInt(0, 42);
    assertEquals(42, mutable.add(0).itemLong(), "it lies in the buffer itself");
  }

  @Test
  void whatCannotBeWrappedIsRefused() {
    ByteBuffer heap = ByteBuffer.allocate(8).order(ByteOrder.nativeOrder());
    assertThrows(MTorchException.class, () -> Tensor.wrap(heap, DType.FLOAT32, 2));
    boolean little = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;
    ByteBuffer other = direct(8).order(little ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN);
    assertThrows(MTorchException.class, () -> Tensor.wrap(other.asFloatBuffer(), 2));
    MTorchException error =
        assertThrows(MTorchException.class, () -> Tensor.wrap(other, DType.FLOAT32, 2));
    assertTrue(error.getMessage().contains("nativeOrder"), error.getMessage());
    assertEquals(8, Tensor.wrap(other, DType.INT8, 8).size());
    assertThrows(MTorchException.class, () -> Tensor.wrap(direct(8), DType.FLOAT32, 3));
    ByteBuffer odd = direct(9).position(1);
    assertThrows(MTorchException.class, () -> Tensor.wrap(odd, DType.FLOAT32, 2), "misaligned");
  }

  @Test
  void aBufferIsKeptWhileATensorNeedsIt() throws Exception {
    ByteBuffer memory = direct(1 << 16);
    memory.putFloat(0, 5);
    WeakReference<ByteBuffer> watched = new WeakReference<>(memory);
    Tensor x = Tensor.wrap(memory, DType.FLOAT32, 1 << 14);
    memory = null;
    System.gc();
    assertTrue(watched.get() != null);
    assertEquals(5, x.sum().item());
    x.close();
    for (int i = 0; i < 100 && watched.get() != null; i++) {
      System.gc();
      Thread.sleep(10);
    }
    assertTrue(watched.get() == null, "the buffer was let go");
  }

  @Test
  void buffersOfElementsOutliveTheTensor() {
    FloatBuffer view;
    try (Scope scope = Scope.open()) {
      view = Tensor.of(new float[] {1, 2, 3, 4}, 2, 2).matrixTranspose().toFloatBuffer();
    }
    for (int i = 0; i < 3; i++) System.gc();
    float[] values = new float[4];
    view.get(values);
    assertArrayEquals(new float[] {1, 3, 2, 4}, values);
    assertThrows(ReadOnlyBufferException.class, () -> view.put(0, 1));
    assertEquals(3, Tensor.of(new long[] {1, 2, 3}).toLongBuffer().get(2));
    assertThrows(MTorchException.class, () -> Tensor.ones(2).toDoubleBuffer());
    assertEquals(0, Tensor.zeros(0).toByteBuffer().remaining());
    assertEquals(0x3f80, Tensor.ones(DType.BFLOAT16, 1).toShortBuffer().get(0));
  }

  @Test
  void moreThanABufferHoldsIsReadInSlices() {
    try (Scope scope = Scope.open()) {
      // Of one number, so that nothing has to be stored.
      Tensor large = Tensor.ones(DType.INT8).broadcastTo(3, 1L << 30);
      MTorchException error = assertThrows(MTorchException.class, large::toByteBuffer);
      assertTrue(error.getMessage().contains("3221225472 bytes"), error.getMessage());
      assertThrows(MTorchException.class, large::toLongArray);
      assertEquals(5, large.slice(1, 0, 5).slice(0, 2, 3).toByteBuffer().remaining());
    }
  }
}
