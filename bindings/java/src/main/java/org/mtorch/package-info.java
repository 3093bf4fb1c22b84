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
 */
package org.mtorch;
