// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

/**
 * Tensors by name, and the layers that they belong to: parameters, which are trained, and buffers,
 * which are only saved. Names and layouts are PyTorch's.
 */
public final class Parameters extends NativeObject {
  private Parameters(long address) {
    super(Handle.PARAMETERS, address, true);
  }

  static Parameters own(long address) {
    return new Parameters(address);
  }

  /** {@return an empty collection of float32, in training mode} */
  public static Parameters create() {
    return create(DType.FLOAT32, null);
  }

  /**
   * An empty collection, in training mode.
   *
   * @param dtype of the tensors that layers make
   * @param device of the tensors that layers make; null for the usual one
   * @return the collection
   */
  public static Parameters create(DType dtype, String device) {
    return Native.parameters_new(dtype, device);
  }

  // --------------------------------------------------------------------------------- Layers

  private Layer layer(long address) {
    return new Layer(this, address);
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
    return layer(Native.layer_linear(this, name, inFeatures, outFeatures, bias));
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
    return layer(Native.layer_linear(this, name, inFeatures, outFeatures, true));
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
    return layer(Native.layer_conv1d(this, name, inChannels, outChannels, kernel, options));
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
    return layer(Native.layer_conv1d(this, name, inChannels, outChannels, kernel, null));
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
    return layer(Native.layer_conv2d(this, name, inChannels, outChannels, height, width, options));
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
    return layer(Native.layer_conv2d(this, name, inChannels, outChannels, height, width, null));
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
        Native.layer_conv_transpose1d(this, name, inChannels, outChannels, kernel, options));
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
            this, name, inChannels, outChannels, height, width, options));
  }

  /**
   * Layer norm over the last axes, with weight and bias; epsilon 1e-5.
   *
   * @param name the prefix of its tensors' names
   * @param shape of the last axes
   * @return a layer of this collection
   */
  public Layer layerNorm(String name, long... shape) {
    return layer(Native.layer_layer_norm(this, name, shape, 1e-5));
  }

  /**
   * RMS norm over the last axes, with weight; epsilon 1e-6.
   *
   * @param name the prefix of its tensors' names
   * @param shape of the last axes
   * @return a layer of this collection
   */
  public Layer rmsNorm(String name, long... shape) {
    return layer(Native.layer_rms_norm(this, name, shape, 1e-6));
  }

  /**
   * Batch norm, with momentum 0.1 and epsilon 1e-5.
   *
   * @param name the prefix of its tensors' names
   * @param channels size of axis 1
   * @return a layer of this collection
   */
  public Layer batchNorm(String name, long channels) {
    return layer(Native.layer_batch_norm(this, name, channels, 0.1, 1e-5));
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
    return layer(Native.layer_embedding(this, name, count, size));
  }

  /**
   * Dropout; it has no tensors.
   *
   * @param probability of dropping an element
   * @return a layer of this collection
   */
  public Layer dropout(double probability) {
    return layer(Native.layer_dropout(this, probability));
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
    return layer(Native.layer_attention(this, name, width, heads, options));
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
            this, name, width, heads, o.hidden, o.dropout, o.activation, o.normFirst, o.causal,
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
    return layer(Native.layer_group_norm(this, name, groups, channels, 1e-5));
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
    return layer(Native.layer_rnn(this, name, in, hidden, layers, bias));
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
    return layer(Native.layer_gru(this, name, in, hidden, layers, bias));
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
    return layer(Native.layer_lstm(this, name, in, hidden, layers, bias));
  }

  // -------------------------------------------------------------------------------- Tensors

  /**
   * Adds a float tensor as a parameter.
   *
   * @param name its name
   * @param tensor which becomes a leaf whose gradient is wanted
   */
  public void add(String name, Tensor tensor) {
    Native.parameters_add(this, name, tensor);
  }

  /**
   * Adds a tensor of any type as a buffer.
   *
   * @param name its name
   * @param tensor the tensor
   */
  public void addBuffer(String name, Tensor tensor) {
    Native.parameters_add_buffer(this, name, tensor);
  }

  /** {@return how many tensors there are} */
  public int count() {
    return (int) Native.parameters_count(this);
  }

  /**
   * The name of a tensor.
   *
   * @param i its place
   * @return the name
   */
  public String name(int i) {
    return Native.parameters_name(this, i);
  }

  /**
   * A tensor of the collection: assigning to it changes the collection's.
   *
   * @param i its place
   * @return the tensor
   */
  public Tensor get(int i) {
    return Native.parameters_tensor(this, i);
  }

  /**
   * A tensor of the collection: assigning to it changes the collection's.
   *
   * @param name its name
   * @return the tensor
   */
  public Tensor get(String name) {
    return Native.parameters_get(this, name);
  }

  /**
   * Whether there is a tensor with a name.
   *
   * @param name the name
   * @return whether there is
   */
  public boolean has(String name) {
    return Native.parameters_has(this, name);
  }

  /**
   * Whether a tensor is a buffer.
   *
   * @param i its place
   * @return whether it is
   */
  public boolean isBuffer(int i) {
    return Native.parameters_is_buffer(this, i);
  }

  // ------------------------------------------------------------------------------- Training

  /** {@return whether the layers are in training mode} */
  public boolean training() {
    return Native.parameters_training(this);
  }

  /**
   * Switches dropout and batch norm between training and evaluation.
   *
   * @param training whether to train
   */
  public void setTraining(boolean training) {
    Native.parameters_set_training(this, training);
  }

  /** Removes the gradients of all parameters. */
  public void zeroGrad() {
    Native.parameters_zero_grad(this);
  }

  /**
   * Scales all gradients, as one vector, down to a norm.
   *
   * @param maxNorm the largest norm
   * @return the norm before
   */
  public Tensor clipGradNorm(double maxNorm) {
    return Native.clip_grad_norm(this, maxNorm);
  }

  // ---------------------------------------------------------------------------------- Files

  /**
   * Writes all tensors to a safetensors file.
   *
   * @param path the file
   */
  public void save(String path) {
    Native.parameters_save(this, path);
  }

  /**
   * Binds all tensors to the values in a safetensors file of the same names, shapes and types.
   *
   * @param path the file
   */
  public void load(String path) {
    Native.parameters_load(this, path);
  }

  /**
   * Writes all tensors as a NumPy archive.
   *
   * @param path the file
   * @param compress whether to compress it
   */
  public void saveNpz(String path, boolean compress) {
    Native.save_npz(this, path, compress);
  }

  /**
   * Reads a NumPy archive, whatever it holds.
   *
   * @param path the file
   * @return its tensors, as buffers
   */
  public static Parameters readNpz(String path) {
    return Native.load_npz(path, null);
  }

  /**
   * Reads a safetensors file, whatever it holds.
   *
   * @param path the file
   * @return its tensors, as buffers
   */
  public static Parameters readSafetensors(String path) {
    return Native.load_safetensors(path, null);
  }
}
