// SPDX-License-Identifier: Apache-2.0
/**
 * Tensors, automatic differentiation and kernels that fuse by themselves: libmtorch for Java.
 *
 * <pre>{@code
 * Tensor w = Tensor.zeros(1, 1).requireGrad(), b = Tensor.zeros(1).requireGrad();
 * for (int step = 0; step < 200; step++) {
 *   try (Scope scope = Scope.open()) {
 *     x.matmul(w).add(b).sub(y).square().mean().backward();
 *     Optimizer.plainStep(0.3, w, b);
 *     w.zeroGrad();
 *     b.zeroGrad();
 *   }
 * }
 * }</pre>
 *
 * <p>It needs Java 17, and was tried with 17, 21 and 25; a virtual thread has its own gradient mode
 * and generator wherever it runs. From Java 24 on the virtual machine warns of programs with native
 * code unless they are started with {@code --enable-native-access=ALL-UNNAMED} ({@code org.mtorch} where
 * the jar is on the module path), or the manifest of the program's own jar has the line {@code
 * Enable-Native-Access: ALL-UNNAMED}.
 */
package org.mtorch;
