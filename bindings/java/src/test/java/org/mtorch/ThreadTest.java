// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

class ThreadTest {
  private static final double[] EXPECTED = train(0);

  /** Trains a small model; the same numbers on every thread. */
  private static double[] train(int pause) {
    try (Scope scope = Scope.open();
        Parameters parameters = seeded()) {
      Layer hidden = parameters.linear("hidden", 3, 8);
      Layer output = parameters.linear("output", 8, 1);
      Tensor x = Tensor.uniform(-1, 1, 16, 3);
      Tensor y = x.sumKeep(1);
      List<Double> losses = new ArrayList<>();
      try (Optimizer optimizer = Optimizer.adam(parameters, 0.01)) {
        for (int i = 0; i < 20; i++) {
          try (Scope step = Scope.open()) {
            Tensor loss = output.apply(hidden.apply(x).relu().dropout(0.1, true))
                .mseLoss(y, Reduction.MEAN);
            loss.backward();
            optimizer.step();
            parameters.zeroGrad();
            try (NoGrad off = NoGrad.begin()) {
              if (pause > 0) Thread.sleep(pause); // a virtual thread goes on elsewhere
              if (loss.mul(2).requiresGrad()) throw new AssertionError("records");
            }
            losses.add(loss.item());
          }
        }
      } catch (InterruptedException error) {
        throw new IllegalStateException(error);
      }
      return losses.stream().mapToDouble(loss -> loss).toArray();
    }
  }

  private static Parameters seeded() {
    Generator.seed(3);
    return Parameters.create();
  }

  private static void same(double[] losses) {
    assertEquals(EXPECTED.length, losses.length);
    for (int i = 0; i < losses.length; i++) assertEquals(EXPECTED[i], losses[i]);
  }

  @Test
  void manyThreadsTrainAlike() throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(8);
    List<Future<double[]>> all = new ArrayList<>();
    for (int i = 0; i < 32; i++) all.add(pool.submit(() -> train(0)));
    for (Future<double[]> one : all) same(one.get());
    pool.shutdown();
  }

  @Test
  void virtualThreadsKeepTheirModeAndGenerator() throws Exception {
    Method start;
    try {
      start = Thread.class.getMethod("startVirtualThread", Runnable.class);
    } catch (NoSuchMethodException before21) {
      assumeTrue(false, "this JDK has no virtual threads");
      return;
    }
    ConcurrentLinkedQueue<double[]> all = new ConcurrentLinkedQueue<>();
    ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 64; i++) {
      Runnable work =
          () -> {
            try {
              all.add(train(1));
            } catch (Throwable error) {
              failures.add(error);
            }
          };
      threads.add((Thread) start.invoke(null, work));
    }
    for (Thread thread : threads) thread.join();
    assertTrue(failures.isEmpty(), () -> "" + failures.peek());
    assertEquals(64, all.size());
    for (double[] losses : all) same(losses);
    same(train(0)); // and an ordinary thread still has its own
  }

  @Test
  void closingWhileOthersUseItIsSafe() throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(4);
    for (int round = 0; round < 300; round++) {
      Tensor x = Tensor.ones(64).keep();
      List<Future<?>> users = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        users.add(
            pool.submit(
                () -> {
                  try {
                    for (int j = 0; j < 1000; j++) {
                      try (Tensor y = x.add(x)) {
                        if (j % 64 == 0) assertEquals(128, y.sum().item());
                      }
                    }
                  } catch (MTorchException error) {
                    assertEquals(ErrorCode.INVALID, error.code());
                  }
                }));
      }
      Thread.sleep(0, 100_000);
      x.close();
      for (Future<?> user : users) user.get();
      assertTrue(x.isClosed());
    }
    pool.shutdown();
  }

  @Test
  void tensorsCrossThreads() throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(4);
    for (int round = 0; round < 200; round++) {
      Tensor pending = Tensor.ones(100).mul(round);
      Future<Double> there = pool.submit(() -> pending.add(1).sum().item());
      assertEquals(100.0 * round, pending.sum().item());
      assertEquals(100.0 * (round + 1), there.get());
    }
    pool.shutdown();
  }
}
