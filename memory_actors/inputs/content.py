"""What was said, as text: message contents come as text or as a list of parts, of which some are no text.

A part that is not text leaves a placeholder such as `[image: a dog]` or `[tool_use: search]`, so that nothing
disappears unseen. An Unfit names the part; who calls adds the file, line and field.
"""

from typing import Any

_TEXTS = frozenset({"text", "input_text", "output_text"})
_IMAGES = frozenset({"image", "image_url", "input_image"})
_NAMES = ("caption", "alt", "name", "title", "filename")
_RIGHT = 'write "content": "some words" or "content": [{"type": "text", "text": "some words"}]'


class Unfit(ValueError):
    """A field holds what it may not. The message completes "field 'x' ..." with what is wrong and what would be right."""


def flatten(content: object) -> str:
    """Text as it is; a list of parts (texts, or objects with a `type`) as one text, a line each."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise Unfit(f"is {kind_of(content)}, where text or a list of parts is expected: {_RIGHT}")
    return _joined(content, nested=False)


def kind_of(value: object) -> str:
    """What JSON calls a value, for messages."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "true or false"
    names = {str: "text", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return names.get(type(value), type(value).__name__)


def placeholder(kind: str, name: str | None = None) -> str:
    """What stands in the text for something that is none: `[image]`, `[image: a dog]`."""
    return f"[{kind}: {name.strip()}]" if name and name.strip() else f"[{kind}]"


def _joined(parts: list[Any], *, nested: bool) -> str:
    texts = [_part(part, number, nested=nested) for number, part in enumerate(parts, start=1)]
    return "\n".join(text for text in texts if text)


def _part(part: object, number: int, *, nested: bool) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        raise Unfit(f"has a part {number} that is {kind_of(part)}: {_RIGHT}")
    kind = part.get("type", "text" if "text" in part else None)
    if not isinstance(kind, str) or not kind:
        raise Unfit(f"has a part {number} without a type: {_RIGHT}")
    if kind in _TEXTS:
        return _text(part, number)
    if kind in _IMAGES:
        return placeholder("image", _name(part))
    if kind == "tool_result" and not nested:
        return placeholder(kind, _result(part.get("content")))
    return placeholder(kind, _name(part))


def _text(part: dict[str, Any], number: int) -> str:
    text = part.get("text")
    if not isinstance(text, str):
        raise Unfit(f"has a text part {number} whose 'text' is {kind_of(text)}: {_RIGHT}")
    return text


def _result(content: object) -> str:
    """The words of a tool's result; parts inside it are flattened once, deeper ones only named."""
    if isinstance(content, str):
        return content
    return _joined(content, nested=True) if isinstance(content, list) else ""


def _name(part: dict[str, Any]) -> str | None:
    function = part.get("function")
    inner = function.get("name") if isinstance(function, dict) else None
    names = [part.get(key) for key in _NAMES] + [inner]
    return next((name for name in names if isinstance(name, str) and name.strip()), None)
