// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import java.util.stream.LongStream;
import java.util.stream.Stream;

/**
 * A kernel of your own: what each cell of a grid computes, as a Java function for the CPU, CUDA C
 * for a GPU, or both.
 *
 * <pre>{@code
 * Kernel twice =
 *     new Kernel(
 *         "twice",
 *         (cell, in, out, numbers) -> {
 *           long i = cell.x();
 *           if (i < out[0].size()) out[0].set(i, 2 * in[0].get(i));
 *         });
 * Tensor y = twice.run(new Launch(4).block(256).result(DType.FLOAT32, 1000), x);
 * }</pre>
 *
 * A Java function is called for one cell after another, which is slow, and good to learn with. An
 * exception inside comes out of the call that needed it, as itself. A kernel has no gradient; call
 * it within a {@link Function} to give it one.
 */
public final class Kernel extends NativeObject {
  /** What one cell computes. It calls nothing of this library but what its arguments have. */
  @FunctionalInterface
  public interface Cells {
    /**
     * Computes one cell's part of the results, and writes nothing else.
     *
     * @param cell where it is
     * @param inputs the inputs' elements, to be read
     * @param results the results' elements, not initialised; all are only there during the call
     * @param numbers those of the launch
     */
    void compute(Cell cell, Elements[] inputs, Elements[] results, double[] numbers);
  }

  private final String name;
  private final Cells function;
  private final boolean hasCuda;

  /**
   * A kernel for the CPU.
   *
   * @param name for messages, tapes and explain
   * @param function what a cell computes
   */
  public Kernel(String name, Cells function) {
    this(name, function, null);
  }

  /**
   * A kernel for a GPU.
   *
   * @param name the function's in {@code cuda}
   * @param cuda CUDA C, whose parameters are pointers to the inputs, to the results, and numbers
   */
  public Kernel(String name, String cuda) {
    this(name, null, cuda);
  }

  /**
   * A kernel for both, as one call may run on either.
   *
   * @param name the function's in {@code cuda}
   * @param function what a cell computes on the CPU, or null
   * @param cuda CUDA C, compiled when it is first needed, or null
   */
  public Kernel(String name, Cells function, String cuda) {
    super(Handle.KERNEL, create(name, function, cuda), true);
    this.name = name;
    this.function = function;
    hasCuda = cuda != null;
  }

  private static long create(String name, Cells function, String cuda) {
    if (cuda == null && function == null) {
      throw new MTorchException(ErrorCode.INVALID, "kernel: neither a function nor CUDA C");
    }
    return cuda == null ? 0 : Native.kernel_new(name, cuda);
  }

  /**
   * Runs it where the inputs lie, for a single result.
   *
   * @param launch grid, block, numbers and the form of the result
   * @param inputs the inputs
   * @return the result
   */
  public Tensor run(Launch launch, Tensor... inputs) {
    if (launch.dtypes.size() != 1) {
      throw new MTorchException(ErrorCode.INVALID, name + ": needs the form of one result");
    }
    return runAll(launch, inputs)[0];
  }

  /**
   * Runs it where the inputs lie.
   *
   * @param launch grid, block, numbers and the forms of the results
   * @param inputs the inputs
   * @return the results
   */
  public Tensor[] runAll(Launch launch, Tensor... inputs) {
    CellCalls calls = null;
    long[] bytes = {};
    if (function != null && (!hasCuda || launch.runsOnCpu(inputs))) {
      Form[] given = Stream.of(inputs).map(x -> new Form(x.dtype(), x.shape())).toArray(Form[]::new);
      Form[] made = launch.forms();
      calls = new CellCalls(function, given, made, launch.numbers);
      bytes = LongStream.concat(sizes(given), sizes(made)).toArray();
    }
    return Native.kernel_run(
        calls == null ? this : null, calls, name, launch.geometry(), launch.device, inputs,
        launch.numbers, launch.codes(), bytes, launch.dtypes.size());
  }

  private static LongStream sizes(Form[] forms) {
    return Stream.of(forms).mapToLong(Form::bytes);
  }

  /** Type and shape of a tensor. */
  record Form(DType dtype, long[] shape) {
    long size() {
      return LongStream.of(shape).reduce(1, Math::multiplyExact);
    }

    long bytes() {
      return Math.multiplyExact(size(), (long) dtype.bytes());
    }
  }
}
