"""The closed set of events that a recording is made of. Plain values only: no tensor, node, frame or callable.

Ids (tensors, nodes, ops, passes, files, cells, scopes, faults) are small integers in first-seen order, counted apart
for each kind, so that two runs of one program give the same trace. Every event may come more than once for one id
where its sentence says so; the latest one holds. Unknown fields are ignored on reading.

Which event begins a step, and to which step the others belong, is decided in `gradviz.trace.trace`, nowhere else.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Raw, Struct, field

FORMAT: tuple[int, int] = (1, 0)
"""Major and minor version of the file format. A newer major version is refused, a newer minor one is read."""

Shape = Annotated[tuple[int, ...], Meta(max_length=64)]
"""Sizes of a tensor's dimensions; PyTorch itself stops at 64."""
Ids = Annotated[tuple[int, ...], Meta(max_length=1 << 20)]
"""Many ids, but no more than a recorder can have counted: a file of a few bytes must not take much memory."""
Scalar = None | bool | int | float | str
Span = tuple[int, int, int, int, int]
"""file id, first line, first column, last line, last column. Lines count from 1, columns from 0 in characters;
-1 where Python does not know."""


class Data(Struct, frozen=True, omit_defaults=True, gc=False):
    """What a tensor held at one moment.

    `raw` is the whole content, C order, little endian, or None, and then `missing` says why: "budget", "off"
    (values="none"), "device", "wrapped", "meta", "uninitialised". Statistics are over the finite elements and are
    kept whenever the content was read, `raw` or not. `thumb` is a float32 picture of block means, `thumb_shape`
    (rows, columns), where `raw` is over budget. A sparse COO tensor has `parts` (indices, values) in place of `raw`.
    """

    shape: Shape
    dtype: str
    device: str = "cpu"
    layout: str = "strided"
    raw: bytes | None = None
    missing: str | None = None
    nan: int = 0
    inf: int = 0
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    norm: float | None = None
    thumb: bytes | None = None
    thumb_shape: tuple[int, int] | None = None
    parts: tuple[Data, ...] = ()


class Saved(Struct, frozen=True, omit_defaults=True, gc=False):
    """One thing that a node keeps for its backward formula. `kind`: "tensor", "scalar" (its `text`), "packed" (by a
    saved-tensor hook; not unpacked, since that runs user code), "none" (an undefined tensor)."""

    name: str
    kind: Literal["tensor", "scalar", "packed", "none"]
    tensor: int | None = None
    version: int | None = None
    shape: Shape | None = None
    dtype: str | None = None
    bytes: int = 0
    storage: int | None = None
    text: str | None = None


class Event(Struct, frozen=True, omit_defaults=True, tag_field="kind", gc=False):
    """Base of all events."""


class Device(Struct, frozen=True, omit_defaults=True, gc=False):
    """A place where tensors can live, as the recorder process found it. `reason` says why it is not `available`."""

    type: str
    index: int | None = None
    name: str = ""
    available: bool = True
    reason: str | None = None


class Header(Event, frozen=True, tag="header"):
    """First event of every recording."""

    format: tuple[int, int] = field(default_factory=lambda: FORMAT)
    """Made, not given, so that it is always written: a later version must see which one wrote a file."""
    program: str = ""
    """Path as given, or "" for a recording made inside another program."""
    source: str = ""
    argv: tuple[str, ...] = ()
    versions: dict[str, str] = {}
    """"python", "torch", "gradviz", "platform"."""
    device: str = "cpu"
    devices: tuple[Device, ...] = ()
    seed: int | None = None
    values: str = "auto"
    value_limit: int = 1024
    """Largest number of elements of which the bytes are kept when `values` is "auto"."""
    rank: int | None = None
    world_size: int | None = None
    pid: int = 0
    time: float = 0.0
    """Seconds since the epoch."""
    notes: tuple[str, ...] = ()
    """Sentences about what this recorder cannot see, e.g. a private name that this PyTorch lacks."""


class File(Event, frozen=True, tag="file"):
    """A source file that a span names; comes before the first such span. `text` is empty where it could not be read."""

    id: int
    path: str
    text: str = ""


class Cell(Event, frozen=True, tag="cell"):
    """The program, or a line sent to the live process, begins. Belongs to the step after it."""

    id: int
    file: int
    origin: Literal["program", "action", "console"] = "program"


class Ended(Event, frozen=True, tag="ended"):
    """A cell is over. `status`: "ok", "error" (a fault precedes it), "exit", "interrupted", "limit" (recording stopped
    by a cap; `left_out` says what), "killed" (written by the reader of a torn stream, never by the recorder)."""

    cell: int
    status: str = "ok"
    exit_code: int | None = None
    left_out: dict[str, int] = {}
    """What was not recorded -> how many. Keys are codes such as "ops", "values", "output" (characters), "threads"."""
    seconds: float = 0.0
    final: bool = False
    """The recorder is leaving: nothing follows."""


class Scope(Event, frozen=True, tag="scope"):
    """A module's `__call__` or a function body is entered or left. Entering belongs to the step after it."""

    id: int
    enter: bool
    path: str = ""
    """Module path ("blocks.7.attn"), or the function's qualified name."""
    cls: str = ""
    parent: int | None = None
    span: Span | None = None


class Named(Event, frozen=True, tag="name"):
    """A variable, attribute or parameter name was bound to a tensor."""

    tensor: int
    name: str
    span: Span | None = None


class Tensor(Event, frozen=True, tag="tensor"):
    """A tensor was seen for the first time, or what is told here has changed (`requires_grad_`, in-place rebase)."""

    id: int
    shape: Shape = ()
    dtype: str = "float32"
    device: str = "cpu"
    layout: str = "strided"
    cls: str = "Tensor"
    requires_grad: bool = False
    is_leaf: bool = True
    node: int | None = None
    output_nr: int = 0
    op: int | None = None
    """The op that made it; None: it was there before, or its making was not seen."""
    base: int | None = None
    """The tensor of which this is a view."""
    storage: int = -1
    """Equal numbers share memory; -1: unknown."""
    version: int | None = None
    """PyTorch's version counter; None: this tensor has none (inference)."""
    inference: bool = False
    retains_grad: bool = False
    grad_of: int | None = None
    """The tensor whose `.grad` this is, where the program had read it from there."""


class Op(Event, frozen=True, tag="op"):
    """An operation ran. `quiet` ones make no step of their own: what they did is told by the event before them."""

    id: int
    name: str
    """Short and as people write it: "matmul", "add", "relu_"."""
    func: str = ""
    """Qualified: "torch.Tensor.add", "torch.nn.functional.linear", or the autograd.Function's class."""
    inputs: Ids = ()
    outputs: Ids = ()
    writes: Ids = ()
    """Tensors whose content this op changed in place (all of them, also `out=` and foreach arguments)."""
    arguments: tuple[tuple[str, str], ...] = ()
    """Non-tensor arguments (name or "", text)."""
    nodes: Ids = ()
    """Nodes it left behind, oldest first. They are born by `Node` events in the same step."""
    span: Span | None = None
    text: str = ""
    """Source text of the exact sub-expression."""
    scope: int | None = None
    first: int | None = None
    """The first operation that ran inside this one, such as in an autograd.Function's forward: from there on, all of
    its thread did."""
    untracked: str | None = None
    """Why no node was made: "no_grad", "inference_mode", "no_input_requires_grad", "not_differentiable", "detached"."""
    custom: bool = False
    """An autograd.Function of the user."""
    within: int | None = None
    """The pass during which it ran (recomputation, a custom backward, create_graph)..."""
    within_node: int | None = None
    """...and the node that was running."""
    thread: int = 0
    quiet: bool = False
    error: bool = False
    """It raised; the fault follows. Makes no step of its own."""


class Node(Event, frozen=True, tag="node"):
    """A grad_fn node was born."""

    id: int
    name: str
    """Without namespace: "MulBackward0", "AccumulateGrad"."""
    edges: tuple[tuple[int | None, int], ...] = ()
    """`next_functions`: (node id or None, input number)."""
    inputs: tuple[tuple[Shape, str], ...] = ()
    """Shape and dtype of each gradient that it receives."""
    sequence: int | None = None
    """None for AccumulateGrad, whose number is the largest there is."""
    op: int | None = None
    leaf: int | None = None
    """The tensor of an AccumulateGrad."""
    saved: tuple[Saved, ...] = ()
    parent: int | None = None
    """The node whose run made this one (create_graph)."""
    within: int | None = None
    custom: str | None = None
    """Qualified name of the user's autograd.Function."""
    span: Span | None = None
    """Where a custom backward is written."""


class Rule(Event, frozen=True, tag="rule"):
    """The derivative formula of a node name, read from the table that this PyTorch ships, once for each name."""

    name: str
    schema: str = ""
    formulas: tuple[tuple[str, str], ...] = ()
    """Argument (or "a, b") -> formula."""
    origin: str = "derivatives.yaml"


class Backward(Event, frozen=True, tag="backward"):
    """The engine was called: its seed stands at the roots. This is a step."""

    id: int
    roots: Ids = ()
    """Node ids. A root that is itself a leaf has its AccumulateGrad here."""
    root_inputs: Ids = ()
    """Which input (output_nr) of each root receives the seed."""
    tensors: Ids = ()
    """The root tensors."""
    seeds: tuple[Data | None, ...] = ()
    implicit: tuple[bool, ...] = ()
    """True where PyTorch made the 1 of a scalar root."""
    call: Literal["backward", "grad"] = "backward"
    retain_graph: bool = False
    create_graph: bool = False
    inputs: Ids | None = None
    """Tensors of `inputs=`; None: all leaves."""
    planned: Ids = ()
    """Nodes in the order the engine will follow, worked out beforehand."""
    parent: int | None = None
    """The pass inside which this one began..."""
    parent_node: int | None = None
    """...and the node that was running there."""
    span: Span | None = None
    text: str = ""


class NodeStarted(Event, frozen=True, tag="started"):
    """A node begins; only written when something happens before it is done. Belongs to the step after it."""

    within: int
    node: int
    gin: tuple[Data | None, ...] = ()


class NodeRan(Event, frozen=True, tag="ran"):
    """The engine has run a node. `gin` is what the function received (after pre-hooks), `gout` what it returned, one
    for each edge (after post-hooks); None is an undefined gradient."""

    within: int
    node: int
    gin: tuple[Data | None, ...] = ()
    gout: tuple[Data | None, ...] = ()
    gin_before: tuple[Data | None, ...] | None = None
    """Given where a tensor hook or pre-hook changed what arrived."""
    gout_before: tuple[Data | None, ...] | None = None
    """Given where a post-hook changed what was returned."""
    thread: int = 0


class Grad(Event, frozen=True, tag="grad"):
    """`.grad` of a tensor changed. Inside a pass it belongs to the step of its node; outside, all that one line writes
    are one step.

    `cause`: "accumulate", "retain" (a non-leaf's retain_grad), "zero", "none", "assign", "edit" (any other in-place
    change, e.g. clipping), "hook". `before` and `after` are None where `.grad` is None.
    """

    tensor: int
    cause: str
    before: Data | None = None
    added: Data | None = None
    after: Data | None = None
    within: int | None = None
    node: int | None = None
    grad_tensor: int | None = None
    """The tensor id of `.grad`, where it was seen as a tensor."""
    span: Span | None = None
    text: str = ""


class Value(Event, frozen=True, tag="value"):
    """Content of a tensor after the step it belongs to. `version` is PyTorch's counter."""

    tensor: int
    data: Data
    version: int | None = None


class Freed(Event, frozen=True, tag="freed"):
    """A node let its saved tensors go, right after it ran."""

    node: int
    within: int | None = None
    bytes: int = 0


class Gone(Event, frozen=True, tag="gone"):
    """These nodes exist no more: nothing in the program holds their graph."""

    nodes: Ids


class BackwardEnded(Event, frozen=True, tag="backward_ended"):
    """The engine returned, or raised (`error`; its fault precedes this)."""

    id: int
    error: bool = False


class Output(Event, frozen=True, tag="output"):
    """What the program printed. Of a flood only parts are told."""

    text: str
    stream: Literal["stdout", "stderr"] = "stdout"
    skipped: int = 0
    """Characters of this stream before `text` that are told nowhere."""


class Fault(Event, frozen=True, tag="fault"):
    """An exception. A step. `code` is one of the kinds that `gradviz info --json` names (DESIGN 8)."""

    id: int
    type: str
    message: str
    code: str = "other"
    caught: bool = False
    """The program went on: it handled the exception itself."""
    span: Span | None = None
    text: str = ""
    node: int | None = None
    within: int | None = None
    op: int | None = None
    tensor: int | None = None
    facts: dict[str, Scalar | list[Scalar]] = {}
    """What proves the cause, e.g. for "version_mismatch": saved_version, version, saved_at, changed_at. What ends in
    "_at" is a `Span`."""
    traceback: str = ""


class Warn(Event, frozen=True, tag="warning"):
    """PyTorch was silent and something is wrong, or something was not seen. Codes: "nan", "inf", "data_edit",
    "broadcast_loss", "unreached_parameter", "unseen" (a region that gradviz could not look into), "python" (a
    warning that the program raised), "limit" (recording stops here)."""

    code: str
    message: str = ""
    span: Span | None = None
    text: str = ""
    op: int | None = None
    node: int | None = None
    tensor: int | None = None
    within: int | None = None
    facts: dict[str, Scalar | list[Scalar]] = {}


class Opaque(Struct, frozen=True, gc=False):
    """An event of a kind that this version does not know, kept as it came."""

    kind: str
    raw: Raw


AnyEvent = (
    Header
    | File
    | Cell
    | Ended
    | Scope
    | Named
    | Tensor
    | Op
    | Node
    | Rule
    | Backward
    | NodeStarted
    | NodeRan
    | Grad
    | Value
    | Freed
    | Gone
    | BackwardEnded
    | Output
    | Fault
    | Warn
)
"""The kinds that can be decoded. A `Trace` may also hold `Opaque` ones."""
