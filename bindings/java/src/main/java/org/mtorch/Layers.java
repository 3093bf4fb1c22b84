// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/** The layers that a collection makes; their weights begin as in PyTorch. */
abstract sealed class Layers extends NativeObject permits Parameters {
  Layers(long address) {
    super(Handle.PARAMETERS, address, true);
  }

  private Parameters self() {
    return (Parameters) this;
  }

  private Layer layer(long address) {
    return new Layer(self(), address);
  }

  /**
   * x weight^T + bias, with tensors name.weight and name.bias.
   *
   * @param name the prefix of its tensors' names
   * @param inFeatures size of the last axis
   * @param outFeatures size that it becomes
   * @param bias whether it has a bias
   * @return a layer of this collection
   */
  public Layer linear(String name, long inFeatures, long outFeatures, boolean bias) {
    return layer(Native.layer_linear(self(), name, inFeatures, outFeatures, bias));
  }

  /**
   * x weight^T + bias, with tensors name.weight and name.bias.
   *
   * @param name the prefix of its tensors' names
   * @param inFeatures size of the last axis
   * @param outFeatures size that it becomes
   * @return a layer of this collection
   */
  public Layer linear(String name, long inFeatures, long outFeatures) {
    return layer(Native.layer_linear(self(), name, inFeatures, outFeatures, true));
  }

  /**
   * A convolution over one axis.
   *
   * @param name the prefix of its tensors' names
   * @param inChannels channels of the input
   * @param outChannels channels of the result
   * @param kernel size of the kernel
   * @param options or null for all defaults
   * @return a layer of this collection
   */
  public Layer conv1d(
      String name, long inChannels, long outChannels, long kernel, ConvOptions options) {
    return layer(Native.layer_conv1d(self(), name, inChannels, outChannels, kernel, options));
  }

  /**
   * A convolution over one axis.
   *
   * @param name the prefix of its tensors' names
   * @param inChannels channels of the input
   * @param outChannels channels of the result
   * @param kernel size of the kernel
   * @return a layer of this collection
   */
  public Layer conv1d(String name, long inChannels, long outChannels, long kernel) {
    return layer(Native.layer_conv1d(self(), name, inChannels, outChannels, kernel, null));
  }

  /**
   * A convolution over two axes.
   *
   * @param name the prefix of its tensors' names
   * @param inChannels channels of the input
   * @param outChannels channels of the result
   * @param height of the kernel
   * @param width of the kernel
   * @param options or null for all defaults
   * @return a layer of this collection
   */
  public Layer conv2d(
      String name, long inChannels, long outChannels, long height, long width,
      ConvOptions options) {
    return layer(Native.layer_conv2d(self(), name, inChannels, outChannels, height, width, options));
  }

  /**
   * A convolution over two axes.
   *
   * @param name the prefix of its tensors' names
   * @param inChannels channels of the input
   * @param outChannels channels of the result
   * @param height of the kernel
   * @param width of the kernel
   * @return a layer of this collection
   */
  public Layer conv2d(String name, long inChannels, long outChannels, long height, long width) {
    return layer(Native.layer_conv2d(self(), name, inChannels, outChannels, height, width, null));
  }

  /**
   * The transpose of a convolution over one axis.
   *
   * @param name the prefix of its tensors' names
   * @param inChannels channels of the input
   * @param outChannels channels of the result
   * @param kernel size of the kernel
   * @param options or null for all defaults
   * @return a layer of this collection
   */
  public Layer convTranspose1d(
      String name, long inChannels, long outChannels, long kernel, ConvOptions options) {
    return layer(
        Native.layer_conv_transpose1d(self(), name, inChannels, outChannels, kernel, options));
  }

  /**
   * The transpose of a convolution over two axes.
   *
   * @param name the prefix of its tensors' names
   * @param inChannels channels of the input
   * @param outChannels channels of the result
   * @param height of the kernel
   * @param width of the kernel
   * @param options or null for all defaults
   * @return a layer of this collection
   */
  public Layer convTranspose2d(
      String name, long inChannels, long outChannels, long height, long width,
      ConvOptions options) {
    return layer(
        Native.layer_conv_transpose2d(
            self(), name, inChannels, outChannels, height, width, options));
  }

  /**
   * Layer norm over the last axes, with weight and bias; epsilon 1e-5.
   *
   * @param name the prefix of its tensors' names
   * @param shape of the last axes
   * @return a layer of this collection
   */
  public Layer layerNorm(String name, long... shape) {
    return layer(Native.layer_layer_norm(self(), name, shape, 1e-5));
  }

  /**
   * RMS norm over the last axes, with weight; epsilon 1e-6.
   *
   * @param name the prefix of its tensors' names
   * @param shape of the last axes
   * @return a layer of this collection
   */
  public Layer rmsNorm(String name, long... shape) {
    return layer(Native.layer_rms_norm(self(), name, shape, 1e-6));
  }

  /**
   * Batch norm, with momentum 0.1 and epsilon 1e-5.
   *
   * @param name the prefix of its tensors' names
   * @param channels size of axis 1
   * @return a layer of this collection
   */
  public Layer batchNorm(String name, long channels) {
    return layer(Native.layer_batch_norm(self(), name, channels, 0.1, 1e-5));
  }

  /**
   * Rows of a table, by their index.
   *
   * @param name the prefix of its tensors' names
   * @param count of rows
   * @param size of a row
   * @return a layer of this collection
   */
  public Layer embedding(String name, long count, long size) {
    return layer(Native.layer_embedding(self(), name, count, size));
  }

  /**
   * Dropout; it has no tensors.
   *
   * @param probability of dropping an element
   * @return a layer of this collection
   */
  public Layer dropout(double probability) {
    return layer(Native.layer_dropout(self(), probability));
  }

  /**
   * Self-attention on [..., n, width].
   *
   * @param name the prefix of its tensors' names
   * @param width of the last axis
   * @param heads divides the width
   * @param options or null for all defaults
   * @return a layer of this collection
   */
  public Layer attention(String name, long width, long heads, AttentionOptions options) {
    return layer(Native.layer_attention(self(), name, width, heads, options));
  }

  /**
   * The block that transformers are made of, on [..., n, width]: attention and a network of two
   * linear layers, each added to what it reads, and norms.
   *
   * @param name the prefix of its tensors' names
   * @param width of the last axis
   * @param heads divides the width
   * @param options or null for all defaults
   * @return a layer of this collection
   */
  public Layer transformer(String name, long width, long heads, TransformerOptions options) {
    TransformerOptions o = options == null ? new TransformerOptions() : options;
    return layer(
        Native.layer_transformer(
            self(), name, width, heads, o.hidden, o.dropout, o.activation, o.normFirst, o.causal,
            o.epsilon));
  }

  /**
   * Group norm, with weight and bias; epsilon 1e-5.
   *
   * @param name the prefix of its tensors' names
   * @param groups divides the channels
   * @param channels size of axis 1
   * @return a layer of this collection
   */
  public Layer groupNorm(String name, long groups, long channels) {
    return layer(Native.layer_group_norm(self(), name, groups, channels, 1e-5));
  }

  /**
   * Plain recurrent layers, by Elman: [batch, n, in] gives [batch, n, hidden].
   *
   * @param name the prefix of their tensors' names
   * @param in size of the input
   * @param hidden size of the state
   * @param layers how many, each reading the states of the one before
   * @param bias whether they have biases
   * @return one layer of this collection
   */
  public Layer rnn(String name, long in, long hidden, long layers, boolean bias) {
    return layer(Native.layer_rnn(self(), name, in, hidden, layers, bias));
  }

  /**
   * A plain recurrent layer, by Elman, with biases: [batch, n, in] gives [batch, n, hidden].
   *
   * @param name the prefix of its tensors' names
   * @param in size of the input
   * @param hidden size of the state
   * @return a layer of this collection
   */
  public Layer rnn(String name, long in, long hidden) {
    return rnn(name, in, hidden, 1, true);
  }

  /**
   * Gated recurrent layers, by Cho and others: [batch, n, in] gives [batch, n, hidden].
   *
   * @param name the prefix of their tensors' names
   * @param in size of the input
   * @param hidden size of the state
   * @param layers how many, each reading the states of the one before
   * @param bias whether they have biases
   * @return one layer of this collection
   */
  public Layer gru(String name, long in, long hidden, long layers, boolean bias) {
    return layer(Native.layer_gru(self(), name, in, hidden, layers, bias));
  }

  /**
   * A gated recurrent layer, by Cho and others, with biases:
   * [batch, n, in] gives [batch, n, hidden].
   *
   * @param name the prefix of its tensors' names
   * @param in size of the input
   * @param hidden size of the state
   * @return a layer of this collection
   */
  public Layer gru(String name, long in, long hidden) {
    return gru(name, in, hidden, 1, true);
  }

  /**
   * Layers with long short-term memory, by Hochreiter and Schmidhuber: [batch, n, in] gives
   * [batch, n, hidden].
   *
   * @param name the prefix of their tensors' names
   * @param in size of the input
   * @param hidden size of the state
   * @param layers how many, each reading the states of the one before
   * @param bias whether they have biases
   * @return one layer of this collection
   */
  public Layer lstm(String name, long in, long hidden, long layers, boolean bias) {
    return layer(Native.layer_lstm(self(), name, in, hidden, layers, bias));
  }

  /**
   * A layer with long short-term memory, by Hochreiter and Schmidhuber, with biases:
   * [batch, n, in] gives [batch, n, hidden].
   *
   * @param name the prefix of its tensors' names
   * @param in size of the input
   * @param hidden size of the state
   * @return a layer of this collection
   */
  public Layer lstm(String name, long in, long hidden) {
    return lstm(name, in, hidden, 1, true);
  }
}
