// SPDX-License-Identifier: Apache-2.0
package org.mtorch;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Tensors by name, and the layers that they belong to: parameters, which are trained, and buffers,
 * which are only saved. Names and layouts are PyTorch's.
 */
public final class Parameters extends Layers {
  private Parameters(long address) {
    super(address);
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

  /** {@return all of them by name, in the order in which they were added} */
  public Map<String, Tensor> tensors() {
    Map<String, Tensor> tensors = new LinkedHashMap<>();
    for (int i = 0; i < count(); i++) tensors.put(name(i), get(i));
    return Collections.unmodifiableMap(tensors);
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
   * Puts a tensor in the place of the one with this name: its layer uses it from now on, so that
   * layers share a weight, which is trained once.
   *
   * @param name the tensor that goes
   * @param tensor of the same shape
   */
  public void share(String name, Tensor tensor) {
    Native.parameters_share(this, name, tensor);
  }

  /**
   * Converts all floats, gradients too, to a type, and brings all tensors to a device, in place; what
   * optimizers keep follows.
   *
   * @param dtype a float type; null: the types stay
   * @param device null: they stay where they are
   */
  public void to(DType dtype, String device) {
    Native.parameters_to(this, dtype, device);
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
    return readNpz(path, null);
  }

  /**
   * Reads a NumPy archive, whatever it holds.
   *
   * @param path the file
   * @param device where its tensors go; null for the usual one
   * @return its tensors, as buffers
   */
  public static Parameters readNpz(String path, String device) {
    return Native.load_npz(path, device);
  }

  /**
   * Reads a safetensors file, whatever it holds.
   *
   * @param path the file
   * @return its tensors, as buffers
   */
  public static Parameters readSafetensors(String path) {
    return readSafetensors(path, null);
  }

  /**
   * Reads a safetensors file, whatever it holds.
   *
   * @param path the file
   * @param device where its tensors go; null for the usual one
   * @return its tensors, as buffers
   */
  public static Parameters readSafetensors(String path, String device) {
    return Native.load_safetensors(path, device);
  }
}
