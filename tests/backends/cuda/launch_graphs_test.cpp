// SPDX-License-Identifier: Apache-2.0
// Plans that run again and again are launched as graphs, and give the same bits, whatever their
// addresses and numbers are by then.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "api/support.h"
#include "backends/cuda/simulated.h"

namespace {

class LaunchGraphs : public Api {
 protected:
  void TearDown() override {
    unsetenv("MT_CUDA_GRAPHS");
    unsetenv("MT_CUDA_TUNE");
    Api::TearDown();
  }
};

// A training step of a small network with dropout, whose numbers differ from step to step.
struct Network {
  mt_tensor *w1, *w2;

  explicit Network(const char* device) {
    mt_seed(5);
    w1 = mt_require_grad(mt_to_device(mt_normal(MT_DIMS(6, 40), 0, 0.5, MT_F32, "cpu"), device));
    w2 = mt_require_grad(mt_to_device(mt_normal(MT_DIMS(40, 1), 0, 0.5, MT_F32, "cpu"), device));
  }
  static mt_status step(void* user, mt_tensor* const* x, size_t, mt_tensor** loss, size_t) {
    auto* self = static_cast<Network*>(user);
    mt_tensor* noise = mt_uniform(MT_DIMS(40), 0, 1, MT_F32, mt_device_of(x[0]));
    mt_tensor* h = mt_mul(mt_tanh(mt_matmul(x[0], self->w1)), noise);
    mt_tensor* error = mt_sub(mt_matmul(mt_softmax(h, 1), self->w2), x[1]);
    loss[0] = mt_mean(mt_square(error), nullptr, 0);
    mt_tensor* weights[] = {self->w1, self->w2};
    mt_zero_grad(weights, 2);
    mt_backward(loss[0]);
    mt_sgd(weights, 2, 0.1);
    return mt_error();
  }
};

// The losses of some steps, and the weights after them.
Numbers train(const char* device, int steps) {
  Network network(device);
  mt_trace* trace = mt_trace_new(Network::step, &network);
  Numbers found;
  std::vector<mt_tensor*> kept;  // so that addresses change in between
  for (int i = 0; i < steps; ++i) {
    mt_tensor* x = mt_to_device(mt_normal(MT_DIMS(9, 6), 0, 1, MT_F32, "cpu"), device);
    mt_tensor* inputs[] = {x, mt_to_device(mt_normal(MT_DIMS(9, 1), 0, 1, MT_F32, "cpu"), device)};
    mt_tensor* loss = nullptr;
    EXPECT_EQ(mt_trace_call(trace, inputs, 2, &loss, 1), MT_OK) << mt_error_message();
    if (i % 5 == 4) kept.push_back(mt_copy(x));
    found.push_back(mt_item(loss));
    if (i % 5 == 0) mt_release(mt_take(inputs[1]));
  }
  for (double w : numbers_of(network.w1)) found.push_back(w);
  for (double w : numbers_of(network.w2)) found.push_back(w);
  mt_trace_release(trace);
  return found;
}

TEST_F(LaunchGraphs, GiveTheBitsOfSingleLaunches) {
  int before = simulated::graph_launches();
  Numbers graphs = train("cuda:0", 24);
  if (simulated::is_there()) {
    EXPECT_GT(simulated::graph_launches(), before + 5);
  }
  setenv("MT_CUDA_GRAPHS", "0", 1);
  before = simulated::graph_launches();
  EXPECT_EQ(train("cuda:0", 24), graphs);
  EXPECT_EQ(simulated::graph_launches(), before);
  EXPECT_EQ(train("cpu", 24), graphs);
}

// A first run that measures is no graph, later ones are.
TEST_F(LaunchGraphs, FollowMeasurements) {
  const std::string file = testing::TempDir() + "mtorch_graphs_" + std::to_string(getpid());
  Numbers measured;
  setenv("MT_CUDA_TUNE", file.c_str(), 1);
  int before = simulated::graph_launches();
  measured = train(simulated::hopper(), 12);
  if (simulated::is_there()) {
    EXPECT_GT(simulated::graph_launches(), before + 3);
  }
  EXPECT_EQ(std::remove(file.c_str()), 0);  // there were measurements
  EXPECT_EQ(train("cpu", 12), measured);
}

// The host's part of a plan cannot be captured; the plan is run as it was before.
TEST_F(LaunchGraphs, LeaveWhatRunsOnTheHost) {
  auto function = [](void*, mt_tensor* const* x, size_t, mt_tensor** y, size_t) -> mt_status {
    mt_tensor* t = mt_cholesky(mt_add(mt_matmul(x[0], mt_matrix_transpose(x[0])),
                                      mt_eye(5, 5, 0, MT_F32, mt_device_of(x[0]))),
                               false);
    y[0] = mt_sum(mt_exp(mt_softmax(mt_matmul(t, x[0]), 1)), nullptr, 0);
    return mt_error();
  };
  auto values = [&](const char* device) {
    mt_trace* trace = mt_trace_new(function, nullptr);
    mt_seed(2);
    Numbers found;
    for (int i = 0; i < 6; ++i) {
      mt_tensor* x = mt_to_device(mt_normal(MT_DIMS(5, 5), 0, 1, MT_F32, "cpu"), device);
      mt_tensor* y = nullptr;
      EXPECT_EQ(mt_trace_call(trace, &x, 1, &y, 1), MT_OK) << mt_error_message();
      found.push_back(mt_item(y));
    }
    mt_trace_release(trace);
    return found;
  };
  Numbers ours = values("cuda:0"), wanted = values("cpu");
  for (size_t i = 0; i < ours.size(); ++i) EXPECT_NEAR(ours[i], wanted[i], 1e-4);
}

}  // namespace
