# SPDX-License-Identifier: Apache-2.0
"""Gradients as functions, regions without them, operators of your own, traces."""
import functools

from . import native
from .dtypes import by_code


class _GradMode:
    """A region, as a `with` block or a decorator, in which histories are recorded or not."""

    def __init__(self, record):
        self._record, self._before = record, []

    def __enter__(self):
        self._before.append(native.set_grad_mode(self._record))

    def __exit__(self, *exception):
        native.set_grad_mode(self._before.pop())

    def __call__(self, function):
        @functools.wraps(function)
        def inside(*args, **kwargs):
            with _GradMode(self._record):
                return function(*args, **kwargs)
        return inside


def no_grad():
    """A region in which no history is recorded."""
    return _GradMode(False)


def enable_grad():
    """A region in which histories are recorded again, inside no_grad()."""
    return _GradMode(True)


def is_grad_enabled():
    """Whether this thread records histories."""
    return native.grad_mode()


def _is_tensor(x):
    return isinstance(x, native.Tensor)


def _listed(tensors):
    return [tensors] if _is_tensor(tensors) else list(tensors)


def grad(outputs, inputs=None, grad_outputs=None, create_graph=False):
    """The gradients of sum(outputs * grad_outputs) to each input: a tensor for one input, else a
    tuple. With a function in place of tensors: the function that gives its gradient to its first
    argument, or to those at the places `inputs`."""
    if callable(outputs):
        with_value = value_and_grad(outputs, 0 if inputs is None else inputs)
        return functools.wraps(outputs)(lambda *args, **kwargs: with_value(*args, **kwargs)[1])
    given = [] if grad_outputs is None else _listed(grad_outputs)
    with _GradMode(create_graph and native.grad_mode()):
        found = native.gradients(_listed(outputs), _listed(inputs), given)
    return found[0] if _is_tensor(inputs) else tuple(found)


def value_and_grad(function, argnums=0):
    """The function that gives the value of `function` and its gradient to the arguments at the
    places `argnums`."""
    places = [argnums] if isinstance(argnums, int) else list(argnums)

    @functools.wraps(function)
    def both(*args, **kwargs):
        args = list(args)
        nested = native.grad_mode() and any(args[i].requires_grad for i in places)
        for i in places:
            if not (nested and args[i].requires_grad):
                args[i] = native.require_grad(native.detach(args[i]))
        with _GradMode(True):
            value = function(*args, **kwargs)
            found = grad(value, [args[i] for i in places], create_graph=nested)
        return (value if nested else native.detach(value),
                found[0] if isinstance(argnums, int) else found)
    return both


# ------------------------------------------------------------------------ Your own operators

class Context:
    """What forward() leaves for backward()."""

    def __init__(self):
        self._kept, self._inputs, self._results = (), (), ()

    def save_for_backward(self, *tensors):
        """Keeps tensors; inputs and results are kept by their place, so that nothing refers to
        itself."""
        self._kept = tensors

    @property
    def saved_tensors(self):
        """Those kept."""
        places = {"input": self._inputs, "result": self._results}
        return tuple(places[kept[0]][kept[1]] if isinstance(kept, tuple) else kept
                     for kept in self._kept)

    def _remember_places(self, inputs, results):
        def place(tensor):
            for kind, tensors in ("input", inputs), ("result", results):
                for i, candidate in enumerate(tensors):
                    if tensor is candidate:
                        return kind, i
            return tensor
        self._kept = tuple(map(place, self._kept))


class _Call:
    """One application of a Function, as the library calls it back."""

    def __init__(self, function, args):
        self.function, self.args, self.context = function, args, Context()
        self.places = [i for i, arg in enumerate(args) if _is_tensor(arg)]
        self.args = [None if _is_tensor(arg) else arg for arg in args]
        self.single = True

    def forward(self, inputs):
        args = list(self.args)
        for i, x in zip(self.places, inputs):
            args[i] = x
        self.context._kept = ()
        results = self.function.forward(self.context, *args)
        self.single = _is_tensor(results)
        results = _listed(results)
        self.context._remember_places(inputs, results)
        return results

    def backward(self, inputs, results, gradients):
        context = self.context
        context._inputs, context._results = inputs, results
        try:
            found = self.function.backward(context, *gradients)
        finally:
            context._inputs = context._results = ()
        found = [found] if found is None or _is_tensor(found) else list(found)
        if len(found) != len(self.args):
            raise ValueError(f"{self.function.__name__}.backward gave {len(found)} gradients for "
                             f"{len(self.args)} arguments")
        return [found[i] for i in self.places]


class Function:
    """An operator with its own gradient. Subclass it with two static methods, and call apply():

        class Cube(mtorch.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x * x

            @staticmethod
            def backward(ctx, dy):
                (x,) = ctx.saved_tensors
                return dy * 3 * x * x

        y = Cube.apply(x)

    backward() gives a gradient, or None, for each argument of apply(). A Function that returns
    several tensors says how many in its attribute `results`."""

    results = 1

    @classmethod
    def apply(cls, *args):
        call = _Call(cls, args)
        found = native.custom_call(cls.__name__, call, [x for x in args if _is_tensor(x)],
                                   cls.results)
        return found[0] if call.single else tuple(found)


def checkpoint(function, *args):
    """function(*args), whose intermediate values are not kept but computed again by backward."""
    places = [i for i, arg in enumerate(args) if _is_tensor(arg)]
    single = True

    def run(*tensors):
        nonlocal single
        full = list(args)
        for i, x in zip(places, tensors):
            full[i] = x
        results = function(*full)
        single = _is_tensor(results)
        return _listed(results)

    found = native.checkpoint_call(run, [args[i] for i in places], 1)
    return found[0] if single else tuple(found)


def gradcheck(function, inputs, *, step=1e-6, relative=1e-5, absolute=1e-7, order=1):
    """Compares the gradients of `function`, a tensor of float64 tensors, with differences; raises
    ValueError, naming input, element and both values, when they disagree. True when not."""
    options = native.gradient_check_options()
    options.step, options.relative, options.absolute = step, relative, absolute
    options.order = order
    native.check_gradients(lambda *tensors: [function(*tensors)], _listed(inputs), options)
    return True


# --------------------------------------------------------------------------------- Traces

def _flatten(value, tensors):
    """The form of nested tuples, lists and dictionaries; their tensors are appended."""
    if _is_tensor(value):
        tensors.append(value)
        return "tensor"
    if isinstance(value, (tuple, list)):
        return type(value).__name__, tuple(_flatten(item, tensors) for item in value)
    if isinstance(value, dict):
        return "dict", tuple((key, _flatten(value[key], tensors)) for key in value)
    return "constant", value


def _unflatten(form, tensors):
    if form == "tensor":
        return next(tensors)
    kind, parts = form
    if kind == "constant":
        return parts
    if kind == "dict":
        return {key: _unflatten(part, tensors) for key, part in parts}
    items = (_unflatten(part, tensors) for part in parts)
    return list(items) if kind == "list" else tuple(items)


class _Recorded:
    """The recordings of a function for one form of its arguments."""

    most = 8  # results of a first call, whose number is not known before

    def __init__(self, function, form):
        self.function, self.form = function, form
        self.result_form, self.count = None, self.most
        self._callback = self.call  # the handle only borrows it
        self.handle = native.trace_function(self._callback)

    def call(self, *tensors):
        args, kwargs = _unflatten(self.form, iter(tensors))
        results = []
        form = _flatten(self.function(*args, **kwargs), results)
        if self.result_form is not None and form != self.result_form:
            raise ValueError("trace: the function returns other things for other shapes")
        self.result_form = form
        if len(results) > self.count:
            raise ValueError(f"trace: {len(results)} results; {self.count} at most")
        filler = results[0] if results else native.zeros((), native.MT_F32, None)
        return results + [filler] * (self.count - len(results))


class Trace:
    """A function that is recorded once for each form, shape and type of its arguments, and
    replayed after that. Numbers among the arguments are constants of a recording. Every tensor
    that the function reads or rebinds (weights, gradients, optimizer state, the generator) is a
    hidden input or output, so a whole training step can be one. Reading a value inside raises."""

    def __init__(self, function):
        functools.update_wrapper(self, function)
        self._function, self._recorded, self._latest = function, {}, None

    def __call__(self, *args, **kwargs):
        tensors = []
        form = _flatten((args, kwargs), tensors)
        recorded = self._recorded.get(form)
        if recorded is None:
            recorded = self._recorded[form] = _Recorded(self._function, form)
        self._latest = recorded
        results = native.trace_call(recorded.handle, tensors, recorded.count)
        return _unflatten(recorded.result_form, iter(results))

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    @property
    def count(self):
        """How many recordings there are."""
        return sum(native.trace_count(recorded.handle) for recorded in self._recorded.values())

    def explain(self, dot=False):
        """What the latest recording runs as one group, and why not more."""
        if self._latest is None:
            raise ValueError("explain: the trace has recorded nothing yet")
        text = native.explain_trace_dot if dot else native.explain_trace
        return text(self._latest.handle)


def trace(function):
    """A decorator: the function is recorded once, then replayed. See Trace."""
    return Trace(function)


def explain(x, dot=False):
    """What a read of the tensor x would run as one group now, the bytes it moves, and the reason
    for each edge that is not fused; as text, or for Graphviz. Also of a traced function."""
    if isinstance(x, Trace):
        return x.explain(dot)
    return native.explain_dot(x) if dot else native.explain(x)


# ----------------------------------------------------------------------------------- The tape

class Node:
    """One node of a tape."""

    def __init__(self, tape, index):
        self._tape, self.index = tape, index

    operator = property(lambda self: native.tape_operator(self._tape._handle, self.index))
    shape = property(lambda self: native.tape_node_shape(self._tape._handle, self.index))
    dtype = property(lambda self: by_code[native.tape_dtype(self._tape._handle, self.index)])
    tensor = property(lambda self: native.tape_tensor(self._tape._handle, self.index))

    @property
    def inputs(self):
        """The nodes that this one reads."""
        return tuple(Node(self._tape, i)
                     for i in native.tape_node_inputs(self._tape._handle, self.index))

    def __repr__(self):
        read = ", ".join(f"%{node.index}" for node in self.inputs)
        return f"%{self.index} = {self.operator}({read})  {self.dtype.name}{list(self.shape)}"


class Tape:
    """A record of the operators called inside `with Tape() as tape:`; a sequence of nodes."""

    def __init__(self):
        self._handle = None

    def __enter__(self):
        self._handle = native.tape_begin()
        return self

    def __exit__(self, *exception):
        native.tape_end(self._handle)

    def __len__(self):
        return native.tape_length(self._handle)

    def __getitem__(self, i):
        if not -len(self) <= i < len(self):
            raise IndexError(f"node {i} of a tape of {len(self)}")
        return Node(self, i % len(self))

    def find(self, x):
        """The node whose value x has; None when the tape does not hold it."""
        i = native.tape_find(self._handle, x)
        return None if i < 0 else Node(self, i)

    def gradient(self, output, inputs):
        """The gradients of sum(output) to each input, whether or not it requires one."""
        found = native.tape_gradients(self._handle, output, _listed(inputs))
        return found[0] if _is_tensor(inputs) else tuple(found)

    def replay(self, inputs, replacements, outputs):
        """The new values of `outputs` when the operators run again with other values for `inputs`."""
        found = native.tape_again(self._handle, _listed(inputs), _listed(replacements),
                                  _listed(outputs))
        return found[0] if _is_tensor(outputs) else tuple(found)

    def __str__(self):
        return native.tape_to_string(self._handle)

    def dot(self):
        """The tape for Graphviz."""
        return native.tape_to_dot(self._handle)

    def draw(self, path):
        """Draws the tape to a file by Graphviz; the name's ending says how (.svg, .png, .pdf)."""
        import subprocess
        subprocess.run(["dot", f"-T{str(path).rpartition('.')[2]}", "-o", str(path)],
                       input=self.dot(), text=True, check=True)
