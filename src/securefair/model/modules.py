"""A caller's own torch modules as heads, and trained heads back as such modules.

Encrypted inference evaluates two shapes: a linear layer, and linear - square - linear. A module of
exactly one of these becomes a head with the same parameters; every other one is refused with what
could be written instead, because approximating it would be another model than the caller's.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor, fx, nn
from torch.nn.modules.lazy import LazyModuleMixin

from securefair.errors import ModelError
from securefair.model.heads import Head, LinearHead, QuadraticHead
from securefair.model.quadratic import Quadratic, coefficient

HINT = (
    "Use nn.Linear, or nn.Sequential(nn.Linear, securefair.Quadratic(), nn.Linear), and give what "
    "comes before as extractor. Convolutions: he_network of securefair.model.networks"
)


def head_of(module: object) -> Head:
    """A head of the same function as a module, in float64; the module is left as it is.

    Parameters are the module's own, but for an activation with a triple a channel: a head has one
    pair (a, b) for all units, and the layers around it take what differs.

    Its layers may be attributes of a class of one's own. Flattening and `nn.Identity` are allowed,
    features being vectors anyway.

    Raises:
        ModelError: it is no module, or of no shape that encryption evaluates, a layer has hooks, or
            a parameter is frozen, tied or not finite; names the layer or parameter.
    """
    if isinstance(module, Head):
        return copy.deepcopy(module)
    if not isinstance(module, nn.Module):
        raise ModelError(
            "this is no model that encryption evaluates",
            where="model",
            found=module.__name__ if isinstance(module, type) else type(module).__name__,
            expected="a torch module (an object, not its class), a head of build_head, or a fit",
            hint=HINT,
        )
    _check_hooks(module)
    layers = _layers(module)
    _check_known(layers)
    _check_parameters(module)
    _check_untied(module, layers)
    match layers:
        case [nn.Linear() as output]:
            return _linear_head(output)
        case [nn.Linear() as first, Quadratic() as activation, nn.Linear() as output]:
            return _quadratic_head(first, activation, output)
        case _:
            raise _refusal(layers)


def module_of(head: Head, like: nn.Module) -> nn.Module:
    """A copy of the module that a head came from, with the head's parameters and its own type.

    Args:
        head: trained; of `head_of(like)`'s shape.
        like: gives layers, types and device.
    """
    if isinstance(like, Head):
        return copy.deepcopy(head)
    module = copy.deepcopy(like)
    with torch.no_grad():
        match _layers(module), head:
            case [nn.Linear() as output], LinearHead():
                _fill(output, head.output_weights, head.output_bias)
            case [nn.Linear() as first, Quadratic() as activation, nn.Linear() as output], (
                QuadraticHead()
            ):
                _fill(first, head.hidden_weights, head.hidden_bias)
                activation.square_log_gain.copy_(head.square_log_gain)
                activation.slope.copy_(head.slope)
                activation.offset.zero_()
                _fill(output, head.output_weights, head.output_bias)
            case layers, _:
                raise _refusal(layers)
    return module


class _Chain(fx.Tracer):
    """Follows a module's own forward pass down to the layers of torch, and to `Quadratic`."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Whether to look inside."""
        return isinstance(m, Quadratic | nn.Linear) or super().is_leaf_module(
            m, module_qualified_name
        )


def _layers(module: nn.Module) -> list[nn.Module]:
    """The layers that compute something, in the order in which forward calls them.

    Raises:
        ModelError: they are no chain: forward branches, calls functions, or cannot be followed.
    """
    if type(module) in (nn.Linear, Quadratic):
        return [module]
    if hasattr(module, "input_shape") and isinstance(getattr(module, "layers", None), nn.Module):
        raise ModelError(
            "a network comes with samples of its owner, which scale its inner values",
            where=type(module).__name__,
            hint="Give Teacher NetworkHead(network, classes, samples); collaborate and "
            "configurations train the packaged networks only",
        )
    for name in ("module", "_orig_mod"):
        if isinstance(getattr(module, name, None), nn.Module):
            raise ModelError(
                "this module only wraps another one",
                where=type(module).__name__,
                hint=f"Give what it wraps, model.{name}",
            )
    try:
        nodes = list(_Chain().trace(module).nodes)
    except Exception as error:  # somebody's own forward pass, with arguments it does not expect
        raise ModelError(
            "this module's forward pass cannot be followed",
            where=type(module).__name__,
            found=str(error).splitlines()[0] if str(error) else type(error).__name__,
            hint=HINT,
        ) from error
    layers = []
    for node, before in zip(nodes[1:], nodes, strict=False):
        if node.all_input_nodes != [before] or node.op not in ("call_module", "output"):
            if _flattens(node, before):
                continue
            raise ModelError(
                "encryption cannot evaluate this step of a module",
                where=type(module).__name__,
                found=node.name,
                hint=HINT,
            )
        if node.op == "call_module":
            layers.append(module.get_submodule(str(node.target)))
    if len(set(map(id, layers))) < len(layers):
        raise ModelError(
            "a layer is used twice", where=type(module).__name__, hint="Give each place its own"
        )
    return [one for one in layers if not isinstance(one, nn.Flatten | nn.Identity)]


def _flattens(node: fx.Node, before: fx.Node) -> bool:
    """Whether it only makes vectors of samples, which features are anyway."""
    return node.all_input_nodes == [before] and (
        (node.op == "call_function" and node.target is torch.flatten)
        or (node.op == "call_method" and node.target == "flatten")
    )


def _linear_head(output: nn.Linear) -> LinearHead:
    head = LinearHead(output.in_features, output.out_features, torch.Generator())
    with torch.no_grad():
        head.output_weights.copy_(output.weight)
        head.output_bias.copy_(_bias(output))
    return head


def _quadratic_head(first: nn.Linear, activation: Quadratic, output: nn.Linear) -> QuadraticHead:
    if first.out_features != output.in_features:
        raise ModelError(
            "the layers do not fit together",
            found=f"{first.out_features} outputs, {output.in_features} inputs",
        )
    if activation.channels not in (None, first.out_features):
        raise ModelError(
            "the activation does not fit the layer before it",
            found=f"{activation.channels} channels",
            expected=f"{first.out_features}, or Quadratic()",
        )
    head = QuadraticHead(
        first.in_features, first.out_features, output.out_features, torch.Generator()
    )
    with torch.no_grad():
        head.hidden_weights.copy_(first.weight)
        head.hidden_bias.copy_(_bias(first))
        head.output_weights.copy_(output.weight)
        head.output_bias.copy_(_bias(output))
        _take_activation(head, activation)
    return head


def _take_activation(head: QuadraticHead, activation: Quadratic) -> None:
    """Give a head an activation's polynomials; its layers take what a single pair cannot hold.

    With u = r (v + b_k / 2 a_k) - b / 2 a and r = sqrt(a_k / a), the pair (a, b) gives unit k

        a u^2 + b u = a_k (v + b_k / 2 a_k)^2 - b^2 / 4 a

    which is its own a_k v^2 + b_k v + c_k but for a constant.
    """
    gains, slopes, offsets = (
        parameter.double().expand(head.hidden)
        for parameter in (activation.square_log_gain, activation.slope, activation.offset)
    )
    head.square_log_gain.copy_(gains.max())
    head.slope.copy_(slopes[gains.argmax()])
    own, a, b = coefficient(gains), head.square, head.slope
    ratio = (own / a).sqrt()
    alike = (own == a) & (slopes == b)
    moved = ratio * (head.hidden_bias + slopes / (2 * own)) - b / (2 * a)
    head.hidden_bias.copy_(torch.where(alike, head.hidden_bias, moved))
    head.hidden_weights.mul_(ratio[:, None])
    constants = offsets + torch.where(alike, 0.0, b**2 / (4 * a) - slopes**2 / (4 * own))
    head.output_bias.add_(head.output_weights @ constants)


def _bias(layer: nn.Linear) -> Tensor:
    if layer.bias is None:
        raise ModelError("a linear layer needs a bias", where="bias", found="bias=False")
    return layer.bias


def _fill(layer: nn.Linear, weights: Tensor, bias: Tensor) -> None:
    layer.weight.copy_(weights)
    layer.bias.copy_(bias)


def _check_hooks(module: nn.Module) -> None:
    """Refuse hooks of the forward pass: training would not call them, whoever uses the trained
    module would. Layers without values yet have hooks of torch's own, and are refused as such."""
    for name, layer in module.named_modules():
        hooks = [*layer._forward_pre_hooks.values(), *layer._forward_hooks.values()]
        if hooks and not isinstance(layer, LazyModuleMixin):
            raise ModelError(
                "hooks of a layer are not trained with it",
                where=name or type(module).__name__,
                found=getattr(hooks[0], "__name__", type(hooks[0]).__name__),
                expected="layers without forward hooks",
                hint="handle.remove() takes a hook off; torch.nn.utils.prune.remove and "
                "remove_weight_norm leave ordinary layers",
            )


def _check_known(layers: list[nn.Module]) -> None:
    """Refuse what only derives from a known layer, too: it may compute something else."""
    for layer in layers:
        if type(layer) not in (nn.Linear, Quadratic):
            raise ModelError(
                "encryption cannot evaluate this layer", found=type(layer).__name__, hint=HINT
            )


def _check_parameters(module: nn.Module) -> None:
    for name, parameter in module.named_parameters():
        if not parameter.requires_grad:
            raise ModelError(
                "a frozen parameter would be trained",
                where=name,
                found="requires_grad=False",
                hint="Give frozen layers as extractor",
            )
        if parameter.is_meta:
            raise ModelError(
                "a parameter has no values",
                where=name,
                found="device meta",
                hint="Give a module on a processor or card: module.to_empty(device='cpu') and then "
                "its weights",
            )
        if not torch.isfinite(parameter).all():
            raise ModelError("a parameter is NaN or infinite", where=name)


def _check_untied(module: nn.Module, layers: list[nn.Module]) -> None:
    """Refuse a parameter that two layers share: a head has one for each, and trains both."""
    names = {id(layer): name for name, layer in module.named_modules()}
    found: list[tuple[str, int, int]] = []
    for layer in layers:
        for own, parameter in layer.named_parameters(names[id(layer)]):
            first, end = _place(parameter)
            for name, start, stop in found:
                if first < stop and start < end:
                    raise ModelError(
                        f"{name} and {own} are one parameter, and would be trained as two",
                        where=type(module).__name__,
                        hint="Give each layer its own: "
                        "layer.weight = nn.Parameter(layer.weight.detach().clone())",
                    )
            found.append((own, first, end))


def _place(parameter: Tensor) -> tuple[int, int]:
    """Where in memory it lies: its first byte, and the one behind its last. Others may have the
    same storage: `vector_to_parameters` gives everyone a part of one vector."""
    steps = zip(parameter.shape, parameter.stride(), strict=True)
    last = sum((size - 1) * stride for size, stride in steps)
    first = parameter.data_ptr()
    return first, first + (last + 1) * parameter.element_size()


def _refusal(layers: list[nn.Module]) -> ModelError:
    shape = " - ".join(type(layer).__name__ for layer in layers) or "no layer"
    return ModelError("encryption cannot evaluate this model", found=shape, hint=HINT)
